// Package fault holds the failures that a caller of the API can act on. Services return them as errors; the API
// turns them into userErrors, or into top-level errors, in one place. All other errors are the server's own.
package fault

import (
	"errors"
	"fmt"
)

// Code is one of the schema's UserErrorCode.
type Code string

// The codes.
const (
	Invalid             Code = "INVALID"
	NotFound            Code = "NOT_FOUND"
	Conflict            Code = "CONFLICT"
	Taken               Code = "TAKEN"
	Forbidden           Code = "FORBIDDEN"
	LimitReached        Code = "LIMIT_REACHED"
	RateLimited         Code = "RATE_LIMITED"
	SessionBusy         Code = "SESSION_BUSY"
	Dependency          Code = "DEPENDENCY"
	IdempotencyMismatch Code = "IDEMPOTENCY_MISMATCH"
	InvalidCredentials  Code = "INVALID_CREDENTIALS" //nolint:gosec // the name of a failure
	Expired             Code = "EXPIRED"
)

// Error is a failure of one request.
type Error struct {
	Code Code
	// Message says what is wrong and what to do.
	Message string
	// Path leads to the argument to blame, e.g. input, name; empty when there is none.
	Path []string
	// RetryAfterSeconds is how long to wait; 0 when waiting doesn't help.
	RetryAfterSeconds int
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// New makes a failure that no argument is to blame for.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At returns the failure with the path of the argument to blame.
func (e *Error) At(path ...string) *Error {
	c := *e
	c.Path = path
	return &c
}

// At returns a failure with the path of the argument to blame. Any other error stays as it is.
func At(err error, path ...string) error {
	if f := As(err); f != nil {
		return f.At(path...)
	}
	return err
}

// As finds the failure in an error; nil when it is the server's own.
func As(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// Is reports whether err is a failure with this code.
func Is(err error, code Code) bool {
	e := As(err)
	return e != nil && e.Code == code
}
