package background

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrPanic is what the error of Contain wraps after a panic.
var ErrPanic = errors.New("panic")

// Contain calls fn. A panic becomes an error, with the stack in its text, so that it ends one piece of work and not the process.
func Contain(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, v, debug.Stack())
		}
	}()
	return fn()
}
