package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
)

// The closed list of codes of top-level errors.
const (
	codeUnauthenticated  = "UNAUTHENTICATED"
	codeForbidden        = "FORBIDDEN"
	codeNotFound         = "NOT_FOUND"
	codeRateLimited      = "RATE_LIMITED"
	codeBadUserInput     = "BAD_USER_INPUT"
	codeParseFailed      = "GRAPHQL_PARSE_FAILED"
	codeValidationFailed = "GRAPHQL_VALIDATION_FAILED"
	codeTooComplex       = "QUERY_TOO_COMPLEX"
	codePayloadTooLarge  = "PAYLOAD_TOO_LARGE"
	codeNotPersisted     = "PERSISTED_QUERY_NOT_FOUND"
	codeNotTrusted       = "DOCUMENT_NOT_TRUSTED"
	codeLagged           = "SUBSCRIPTION_LAGGED"
	codeTimeout          = "TIMEOUT"
	codeUnavailable      = "UNAVAILABLE"
	codeInternal         = "INTERNAL"
)

func knownCode(code string) bool {
	switch code {
	case codeUnauthenticated, codeForbidden, codeNotFound, codeRateLimited, codeBadUserInput, codeParseFailed,
		codeValidationFailed, codeTooComplex, codePayloadTooLarge, codeNotPersisted, codeNotTrusted, codeLagged,
		codeTimeout, codeUnavailable, codeInternal:
		return true
	}
	return false
}

// coded makes a top-level error. The message is for the caller, so it must hold nothing of the server's own.
func coded(code, message string) *gqlerror.Error {
	return &gqlerror.Error{Message: message, Extensions: map[string]any{"code": code}}
}

// faultCodes maps the failures of services to what a query may throw. Mutations return them as userErrors instead.
var faultCodes = map[fault.Code]string{
	fault.Invalid:             codeBadUserInput,
	fault.NotFound:            codeNotFound,
	fault.Conflict:            codeBadUserInput,
	fault.Taken:               codeBadUserInput,
	fault.Forbidden:           codeForbidden,
	fault.LimitReached:        codeRateLimited,
	fault.RateLimited:         codeRateLimited,
	fault.Dependency:          codeBadUserInput,
	fault.IdempotencyMismatch: codeBadUserInput,
	fault.InvalidCredentials:  codeUnauthenticated,
	fault.Expired:             codeUnauthenticated,
}

// errorPresenter is the one place in which an error becomes what a caller sees.
type errorPresenter struct {
	log        *slog.Logger
	authorizer *authorizer
	meter      Meter
	// timeout is how long an operation may take.
	timeout time.Duration
}

// present implements graphql.ErrorPresenterFunc. Errors that nobody meant for the caller become INTERNAL; their
// cause goes to the log, beside the request's id.
func (p *errorPresenter) present(ctx context.Context, err error) *gqlerror.Error {
	out := &gqlerror.Error{}
	if wrapped, ok := errors.AsType[*gqlerror.Error](err); ok {
		out.Path, out.Locations = wrapped.Path, wrapped.Locations
		if code, _ := wrapped.Extensions["code"].(string); knownCode(code) {
			out.Message, out.Extensions = wrapped.Message, wrapped.Extensions
			return out
		}
	}
	if out.Path == nil {
		out.Path = graphql.GetPath(ctx)
	}
	if f := fault.As(err); f != nil {
		out.Message = f.Message
		out.Extensions = faultExtensions(f)
		return out
	}
	if bad := p.argumentError(ctx, err); bad != nil {
		out.Message, out.Extensions = bad.Message, bad.Extensions
		return out
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		out.Message = "The operation took too long. Request less at once, or try again later."
		out.Extensions = map[string]any{"code": codeTimeout, "limit": "TIME", "maximum": int64(p.timeout.Seconds())}
		p.log.WarnContext(ctx, "operation timed out", "request_id", auth.RequestFrom(ctx).ID, "path", out.Path.String(), "error", err)
		return out
	case cause != nil:
		out.Message = "The operation was cancelled before it ended."
		out.Extensions = map[string]any{"code": codeUnavailable}
		return out
	}
	id := auth.RequestFrom(ctx).ID
	out.Message = "Something went wrong on the server. The operator can find the cause in the log by the request id."
	out.Extensions = map[string]any{"code": codeInternal, "requestId": id}
	p.log.ErrorContext(ctx, "operation failed", "request_id", id, "path", out.Path.String(), "error", err)
	return out
}

func faultExtensions(f *fault.Error) map[string]any {
	code, ok := faultCodes[f.Code]
	if !ok {
		code = codeBadUserInput
	}
	ext := map[string]any{"code": code}
	if f.RetryAfterSeconds > 0 {
		ext["retryAfterSeconds"] = f.RetryAfterSeconds
	}
	return ext
}

// argumentError tells an argument that could not be read from a resolver that failed: the arguments of a field are
// read before its middleware, and only then is fc.Args nil. Callers without the right to the field learn just that.
func (p *errorPresenter) argumentError(ctx context.Context, err error) *gqlerror.Error {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || fc.Args != nil || fc.Field.Field == nil || fc.Field.Definition == nil ||
		len(fc.Field.Definition.Arguments) == 0 {
		return nil
	}
	if denied := p.authorizer.refuseField(auth.FromContext(ctx), fc); denied != nil {
		return denied
	}
	message := err.Error()
	if wrapped, ok := errors.AsType[*gqlerror.Error](err); ok {
		message = wrapped.Message
	}
	return coded(codeBadUserInput, clipMessage(message))
}

// recovered implements graphql.RecoverFunc.
func (p *errorPresenter) recovered(ctx context.Context, reason any) error {
	p.meter.Panicked("graphql")
	id := auth.RequestFrom(ctx).ID
	p.log.ErrorContext(ctx, "panic in an operation", "request_id", id, "path", graphql.GetPath(ctx).String(),
		"panic", reason, "stack", string(debug.Stack()))
	return internalError(id)
}

// panicked is recovered for panics outside of fields.
func (p *errorPresenter) panicked(ctx context.Context, reason any) *gqlerror.Error {
	p.meter.Panicked("graphql")
	id := auth.RequestFrom(ctx).ID
	p.log.ErrorContext(ctx, "panic around an operation", "request_id", id, "panic", reason, "stack", string(debug.Stack()))
	return internalError(id)
}

func internalError(requestID string) *gqlerror.Error {
	e := coded(codeInternal, "Something went wrong on the server. The operator can find the cause in the log by the request id.")
	e.Extensions["requestId"] = requestID
	return e
}

// maxMessage keeps an error from carrying the caller's own document back.
const maxMessage = 300

func clipMessage(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a character
		cut--
	}
	return s[:cut] + "…"
}

// statusOf returns the status of a request that was refused before it ran. Under application/json the older
// convention holds: well-formed requests answer 200, whatever became of the operation.
func statusOf(errs gqlerror.List, media string) int {
	if len(errs) == 0 {
		return http.StatusOK
	}
	code, _ := errs[0].Extensions["code"].(string)
	switch code {
	case codePayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeUnavailable:
		return http.StatusServiceUnavailable
	case codeInternal:
		return http.StatusInternalServerError
	}
	if media == mediaJSON {
		return http.StatusOK
	}
	return http.StatusBadRequest
}
