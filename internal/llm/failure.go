package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxQuote is how much of a provider's own words is shown to users, in bytes.
const maxQuote = 300

// Refusal is what a provider answered instead of a stream, or in the middle of one.
type Refusal struct {
	// Status is the HTTP status, or the one that an error inside a stream stands for; 0 when there is none.
	Status int
	Header http.Header
	// Type is the provider's own name for the error, e.g. "insufficient_quota"; types and codes may be joined.
	Type string
	// Message is the provider's own text.
	Message string
}

// RefusalError sorts a refusal into the closed list of codes. now is for dates in Retry-After.
func RefusalError(r Refusal, now time.Time) *Error {
	e := &Error{Status: r.Status, RetryAfter: retryAfter(r.Header, now)}
	says := strings.ToLower(r.Type + " " + r.Message)
	switch {
	case r.Status == http.StatusPaymentRequired || containsAny(says, "insufficient_quota", "billing", "credit balance", "exceeded your current quota"):
		e.Code = CodeQuotaExhausted
		e.Message = "The provider's account has no quota left. Add credit there, or choose a model of another provider." + quote(r.Message)
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		// The provider's words may hold a part of the key.
		e.Code = CodeMisconfigured
		e.Message = "The provider refused the API key. Check the key in the provider's settings."
	case r.Status == http.StatusNotFound:
		e.Code = CodeMisconfigured
		e.Message = "The provider doesn't know this model or address. Check the model's name and the provider's base URL." + quote(r.Message)
	case r.Status == http.StatusTooManyRequests:
		e.Code, e.Transient = CodeRateLimited, true
		e.Message = "The provider's rate limit is reached. Try again later."
	case isTransientStatus(r.Status):
		e.Code, e.Transient = CodeUnavailable, true
		e.Message = "The provider is not available at the moment. Try again later."
	case r.Status == http.StatusRequestEntityTooLarge || containsAny(says, "context_length", "context window", "context length", "prompt is too long",
		"maximum context", "input token count", "too many tokens"):
		e.Code = CodeContextExceeded
		e.Message = "The conversation is too long for the model. Start a new session, or choose a model with a larger context window."
	case containsAny(says, "input_schema", "tools.", "function_declarations", "invalid schema", "invalid_function_parameters", "tools["):
		e.Code = CodeInvalidToolSchema
		e.Message = "The provider refused the description of a tool." + quote(r.Message)
	default:
		e.Code = CodeMisconfigured
		e.Message = "The provider refused the request." + quote(r.Message)
	}
	return e
}

// permanent is an error that no repetition ends, with a text for users. Requests that the egress client refuses fail with one.
type permanent interface {
	error
	Permanent() bool
}

// ConnectionError is the failure of a call that brought no whole answer: no connection, or one that broke. The errors of ctx are
// passed through, since they are no failure of the provider.
func ConnectionError(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the model call was abandoned: %w", ctx.Err())
	}
	if p, ok := errors.AsType[permanent](cause); ok && p.Permanent() {
		return &Error{
			Code: CodeMisconfigured, Cause: cause,
			Message: "The provider's address can't be used: " + p.Error() + " Check the base URL in the provider's settings.",
		}
	}
	return &Error{
		Code: CodeUnavailable, Transient: true, Cause: cause,
		Message: "The connection to the provider failed, or broke before the answer was complete. Try again. If it keeps failing, check the provider's base URL.",
	}
}

// BrokenAnswerError is the failure of a call whose answer can't be read.
func BrokenAnswerError(cause error) *Error {
	return &Error{
		Code: CodeUnavailable, Transient: true, Cause: cause,
		Message: "The provider sent an unreadable answer. Try again. If it keeps failing, check the provider's kind and base URL.",
	}
}

func isTransientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	}
	return status >= 500
}

// maxRetryAfter bounds what a provider may ask for. Nobody waits as long, and sums of such times don't overflow.
const maxRetryAfter = 7 * 24 * time.Hour

// retryAfter reads how long the provider asks to wait, maxRetryAfter at most; 0 when it doesn't say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, float64(maxRetryAfter/time.Millisecond)) * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return min(t.Sub(now), maxRetryAfter)
	}
	return 0
}

// quote repeats a provider's words in one line, without what would steer a terminal or turn the direction of the text around it.
func quote(message string) string {
	message = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c):
			return -1
		}
		return c
	}, strings.ToValidUTF8(message, ""))
	message = strings.TrimSpace(message)
	if message == "" {
		return ""
	}
	if len(message) > maxQuote {
		cut := maxQuote
		for !utf8.RuneStart(message[cut]) {
			cut--
		}
		message = message[:cut] + "…"
	}
	return " It says: " + message
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
