package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
)

// Failures sorts what can go wrong in one call.
type Failures struct {
	// Read understands the body of a refusal. It fills in Type and Message, and may correct Status and Header. A status below 400 that it
	// leaves means that the body tells of no error.
	Read func(r *llm.Refusal, body []byte)
	// Key is taken out of everything that a provider says: some repeat it.
	Key string
	Now func() time.Time
}

// Of returns the error that a driver returns for err. Nil stays nil.
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

// OfRequest is Of for errors of an SDK that was to send a request. What is no error of the connection was made before anything was
// sent: an address that can't be used, or a request that can't be encoded.
func (f Failures) OfRequest(ctx context.Context, err error) error {
	if wasSent(err) || ctx.Err() != nil {
		return f.Of(ctx, err)
	}
	return &llm.Error{
		// SDKs repeat the whole request in such errors.
		Code: llm.CodeMisconfigured, Cause: errors.New(cut(err.Error())),
		Message: "The request to the provider could not be made. Check the provider's base URL and the model's name.",
	}
}

// OfDocument is Of for errors of an SDK that was to read a document. What is no error of the connection is one of the document, which
// SDKs repeat in it.
func (f Failures) OfDocument(ctx context.Context, err error) error {
	if wasSent(err) || ctx.Err() != nil {
		return f.Of(ctx, err)
	}
	return f.Of(ctx, Unreadablef("the answer does not have the expected form: %s", cut(err.Error())))
}

// wasSent reports whether err is net/http's, which wraps whatever happens on a connection so.
func wasSent(err error) bool {
	e, ok := errors.AsType[*url.Error](err)
	return ok && e.Op != "parse"
}

// cut shortens what an SDK says to what may stand in a log.
func cut(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

func (f Failures) refusal(r *Refused) error {
	if r.Status >= 300 && r.Status < http.StatusBadRequest {
		return &llm.Error{Code: llm.CodeMisconfigured, Status: r.Status, Cause: r, Message: fmt.Sprintf("The provider's address answered with a redirect "+
			"(status %d), which is not followed. Put the final address into the base URL in the provider's settings.", r.Status)}
	}
	refusal := llm.Refusal{Status: r.Status, Header: r.Header}
	f.Read(&refusal, r.Body)
	switch {
	case refusal.Status >= http.StatusBadRequest:
		return f.Refusal(refusal)
	case refusal.Status == http.StatusOK:
		return llm.BrokenAnswerError(Unreadablef("the answer does not have the expected form"))
	}
	return &llm.Error{Code: llm.CodeMisconfigured, Status: r.Status, Cause: r, Message: fmt.Sprintf(
		"The provider's address answered with the unexpected status %d. Check the base URL in the provider's settings.", r.Status)}
}

// Refusal sorts a refusal that came in the middle of a stream. The key is cut out of its texts: servers may repeat what they were sent.
func (f Failures) Refusal(r llm.Refusal) *llm.Error {
	// Shorter ones are no keys, and would tear words apart.
	if len(f.Key) >= 8 {
		r.Message = strings.ReplaceAll(r.Message, f.Key, "[key]")
		r.Type = strings.ReplaceAll(r.Type, f.Key, "[key]")
	}
	return llm.RefusalError(r, f.Now())
}
