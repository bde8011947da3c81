package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/llm"
)

func TestConnectionError(t *testing.T) {
	t.Parallel()
	blocked := &egress.BlockedError{Host: "10.0.0.1", Reason: "it is private."}
	for name, test := range map[string]struct {
		cause     error
		code      llm.Code
		transient bool
		says      string
	}{
		"a broken connection": {io.ErrUnexpectedEOF, llm.CodeUnavailable, true, "Try again"},
		"an address that may not be reached": {
			&url.Error{Op: "Post", URL: "https://10.0.0.1", Err: fmt.Errorf("dial: %w", blocked)}, llm.CodeMisconfigured, false,
			"10.0.0.1 can't be called: it is private. Check the base URL",
		},
	} {
		err := llm.ConnectionError(t.Context(), test.cause)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != test.code || e.Transient != test.transient || !strings.Contains(e.Message, test.says) || !errors.Is(err, test.cause) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := llm.ConnectionError(ctx, blocked)
	if _, failed := errors.AsType[*llm.Error](err); failed || !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
}

// TestHostileRefusals has providers that are servers of somebody's own.
func TestHostileRefusals(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second}, {"Retry-After", "0.5", time.Second / 2}, {"Retry-After", "1e300", week}, {"Retry-After", "Inf", week},
		{"Retry-After", "NaN", 0}, {"Retry-After", "-1", 0}, {"Retry-After-Ms", "250", time.Second / 4}, {"Retry-After-Ms", "1e300", week},
		{"Retry-After", "Sat, 21 Nov 2026 12:00:05 GMT", 5 * time.Second}, {"Retry-After", "Sat, 21 Nov 2026 11:00:00 GMT", 0},
		{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", week},
	} {
		e := llm.RefusalError(llm.Refusal{Status: http.StatusTooManyRequests, Header: http.Header{c.name: {c.value}}}, now)
		if e.RetryAfter != c.want {
			t.Errorf("%s: %s gives %s, want %s", c.name, c.value, e.RetryAfter, c.want)
		}
	}
	e := llm.RefusalError(llm.Refusal{Status: http.StatusBadRequest, Message: " a\x1b[2Jb\u009b1mc\r\nlevel=ERROR\x00 \u202egnp.exe\u2066 \u2028<b>Größe</b>\xff "}, now)
	if want := "It says: a[2Jb1mc  level=ERROR gnp.exe  <b>Größe</b>"; !strings.HasSuffix(e.Message, want) {
		t.Errorf("%q, want it to end with %q", e.Message, want)
	}
}
