package wire_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

// read returns all events of a stream as name=data, and how it ended.
func read(r io.Reader, tolerance wire.Tolerance) (out []string, err error) {
	events := wire.NewEvents(r, tolerance, func() {})
	for {
		ev, err := events.Next()
		if err != nil {
			return out, err
		}
		out = append(out, ev.Name+"="+string(ev.Data))
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := map[string]ended{
		"empty":          {"", nil, io.EOF},
		"one":            {"data: a\n\n", []string{"=a"}, io.EOF},
		"named":          {"event: n\ndata: a\n\ndata: b\n\n", []string{"n=a", "=b"}, io.EOF},
		"CRLF":           {"event: n\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"n=a", "=b"}, io.EOF},
		"no space":       {"data:a\n\n", []string{"=a"}, io.EOF},
		"two lines":      {"data: a\ndata:  b\n\n", []string{"=a\n b"}, io.EOF},
		"comment":        {": c\n\n:\n\ndata: a\n\n", []string{"=a"}, io.EOF},
		"id and retry":   {"id: 1\nretry: 2\ndata: a\n\n", []string{"=a"}, io.EOF},
		"no data":        {"event: n\n\ndata: a\n\n", []string{"=a"}, io.EOF},
		"blank lines":    {"\n\n\ndata: a\n\n\n\n", []string{"=a"}, io.EOF},
		"long":           {"data: " + long + "\n\n", []string{"=" + long}, io.EOF},
		"cut name":       {"data: a\n\nev", []string{"=a"}, io.ErrUnexpectedEOF},
		"cut data":       {"data: a\n\ndata: {}", []string{"=a"}, io.ErrUnexpectedEOF},
		"cut event":      {"data: a\n\ndata: {}\n", []string{"=a"}, io.ErrUnexpectedEOF},
		"cut comment":    {"data: a\n\n: x\n", []string{"=a"}, io.ErrUnexpectedEOF},
		"bare JSON":      {"data: a\n\n{\"x\":1}", []string{"=a", "={\"x\":1}\n"}, io.EOF},
		"bare JSON, cut": {"data: a\n\n{\"x\":", []string{"=a"}, &wire.Unreadable{}},
		"encoding mark":  {"\ufeffdata: a\n\n", []string{"=a"}, io.EOF},
		"late mark":      {"data: a\n\n\ufeffdata: a\n\n", []string{"=a"}, &wire.Unreadable{}},
		"error field":    {"error: {}\n\n", nil, &wire.Unreadable{}},
		"no event":       {"hello\n\n", nil, &wire.Unreadable{}},
		"page":           {"<html>\n", nil, &wire.Unreadable{}},
	}
	testEvents(t, wire.Strict, tests)
}

// Servers that imitate others do some things in ways of their own.
func TestEventsLenient(t *testing.T) {
	testEvents(t, wire.Lenient, map[string]ended{
		"no blank line":    {"data: a\n\ndata: {\"x\":1}\n", []string{"=a", `={"x":1}`}, io.EOF},
		"no line's end":    {"event: n\ndata: {\"x\":1}", []string{`n={"x":1}`}, io.EOF},
		"two lines":        {"data: {\ndata: }", []string{"={\n}"}, io.EOF},
		"done":             {"data: [DONE]", []string{"=[DONE]"}, io.EOF},
		"cut JSON":         {"data: a\n\ndata: {\"x\":1", []string{"=a"}, io.ErrUnexpectedEOF},
		"cut text":         {"data: a", nil, io.ErrUnexpectedEOF},
		"cut comment":      {"data: a\n\n: x", []string{"=a"}, io.EOF},
		"unknown fields":   {"x: y\nstatus\ndata: a\n\n", []string{"=a"}, io.EOF},
		"error":            {"error: {\"code\":503}\n\n", []string{`error={"code":503}`}, io.EOF},
		"bare JSON":        {"data: a\n\n{\"x\":1}", []string{"=a", "={\"x\":1}\n"}, io.EOF},
		"bare JSON, cut":   {"data: a\n\n{\"x\":", []string{"=a"}, &wire.Unreadable{}},
		"mark of encoding": {"\ufeffdata: a\n\n", []string{"=a"}, io.EOF},
	})
}

// ended is a stream, its events, and how it ends.
type ended struct {
	stream string
	want   []string
	end    error
}

func testEvents(t *testing.T, tolerance wire.Tolerance, tests map[string]ended) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(tt.stream), iotest.OneByteReader(strings.NewReader(tt.stream)), iotest.DataErrReader(strings.NewReader(tt.stream))} {
				got, err := read(r, tolerance)
				wiretest.Same(t, "events", got, tt.want)
				_, unreadable := errors.AsType[*wire.Unreadable](err)
				_, want := errors.AsType[*wire.Unreadable](tt.end)
				if unreadable != want || !want && !errors.Is(err, tt.end) {
					t.Errorf("the stream ended with %v, want %v", err, tt.end)
				}
			}
		})
	}
}

// The connection's own error is kept: it tells a stream that broke from one that was ended.
func TestEventsBroken(t *testing.T) {
	broken := errors.New("connection reset")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), wire.Lenient)
	wiretest.Same(t, "events", got, []string{"=a"})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestEventsTooLong(t *testing.T) {
	for name, stream := range map[string]string{
		"line":  "data: " + strings.Repeat("x", wire.MaxEvent),
		"lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", wire.MaxEvent/1000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(strings.NewReader(stream), wire.Lenient)
			if _, ok := errors.AsType[*wire.Unreadable](err); !ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("event: n\ndata: a\n\n: c\n\n{\"x\":1}")
	f.Add("\ufefferror: {\"x\":1}\n\ndata: [DONE]")
	f.Fuzz(func(t *testing.T, stream string) {
		strict, errStrict := compare(t, stream, wire.Strict)
		lenient, errLenient := compare(t, stream, wire.Lenient)
		if errors.Is(errStrict, io.EOF) && (!slices.Equal(strict, lenient) || !errors.Is(errLenient, io.EOF)) {
			t.Errorf("%q (%v) is read, and leniently %q (%v)", strict, errStrict, lenient, errLenient)
		}
	})
}

// compare reads a stream at once and byte by byte.
func compare(t *testing.T, stream string, tolerance wire.Tolerance) ([]string, error) {
	t.Helper()
	whole, errWhole := read(strings.NewReader(stream), tolerance)
	pieces, errPieces := read(iotest.OneByteReader(strings.NewReader(stream)), tolerance)
	wiretest.Same(t, "events, however the bytes come", pieces, whole)
	if errWhole.Error() != errPieces.Error() {
		t.Errorf("%v, and %v in pieces", errWhole, errPieces)
	}
	return whole, errWhole
}
