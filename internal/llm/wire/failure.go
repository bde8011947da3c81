package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
)

// Failures sorts what can go wrong in one call.
type Failures struct {
	// Read understands the body of a refusal. It fills in Type and Message, and may correct Status and Header.
	Read func(r *llm.Refusal, body []byte)
	// Key is taken out of everything that a provider says: some repeat it.
	Key string
	Now func() time.Time
}

// Of gives the error that a driver returns for err. Nil stays nil.
func (f Failures) Of(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return llm.ConnectionError(ctx, err)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if r, ok := errors.AsType[*Refused](err); ok {
		return f.refusal(r)
	}
	if u, ok := errors.AsType[*Unreadable](err); ok {
		return llm.BrokenAnswerError(u)
	}
	return llm.ConnectionError(ctx, err)
}

func (f Failures) refusal(r *Refused) error {
	refusal := llm.Refusal{Status: r.Status, Header: r.Header}
	if r.Status < http.StatusBadRequest {
		return &llm.Error{Code: llm.CodeMisconfigured, Status: r.Status, Cause: r, Message: fmt.Sprintf(
			"The provider's address answered with status %d. Redirects are not followed: set the base URL to the final address.", r.Status)}
	}
	f.Read(&refusal, r.Body)
	return f.Refusal(refusal)
}

// Refusal sorts a refusal that came in the middle of a stream.
func (f Failures) Refusal(r llm.Refusal) *llm.Error {
	// Shorter ones are no keys, and would tear words apart.
	if len(f.Key) >= 8 {
		r.Message = strings.ReplaceAll(r.Message, f.Key, "…")
		r.Type = strings.ReplaceAll(r.Type, f.Key, "…")
	}
	return llm.RefusalError(r, f.Now())
}
