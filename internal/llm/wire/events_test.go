package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

// read gives all events of a stream as name=data, and how it ended.
func read(r io.Reader) (out []string, err error) {
	events := wire.NewEvents(r, func() {})
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
	tests := map[string]struct {
		stream string
		want   []string
		end    error
	}{
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
		"no event":       {"hello\n\n", nil, &wire.Unreadable{}},
		"page":           {"<html>\n", nil, &wire.Unreadable{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(tt.stream), iotest.OneByteReader(strings.NewReader(tt.stream)), iotest.DataErrReader(strings.NewReader(tt.stream))} {
				got, err := read(r)
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
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
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
			_, err := read(strings.NewReader(stream))
			if _, ok := errors.AsType[*wire.Unreadable](err); !ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("event: n\ndata: a\n\n: c\n\n{\"x\":1}")
	f.Fuzz(func(t *testing.T, stream string) {
		whole, errWhole := read(strings.NewReader(stream))
		pieces, errPieces := read(iotest.OneByteReader(strings.NewReader(stream)))
		wiretest.Same(t, "events, however the bytes come", pieces, whole)
		if errWhole.Error() != errPieces.Error() {
			t.Errorf("%v, and %v in pieces", errWhole, errPieces)
		}
	})
}
