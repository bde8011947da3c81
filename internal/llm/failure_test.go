package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

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
			"10.0.0.1 may not be reached: it is private. Check the base URL",
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
	if err := llm.ConnectionError(ctx, blocked); !errors.Is(err, context.Canceled) || llm.IsTransient(err) {
		t.Errorf("a call that was given up: %v", err)
	}
}
