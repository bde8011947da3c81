package sessions

import (
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// MaxResultBytes bounds what a wait is resolved with from outside.
const MaxResultBytes = 256 << 10

// resultValue checks a value that comes from outside and returns its canonical form, by which a repeated one is known. The bound is
// on what was sent, before any of it is read.
func resultValue(v models.JSON, path ...string) (models.JSON, error) {
	if len(v) > MaxResultBytes {
		return nil, tooLarge(len(v), path...)
	}
	canonical, err := jsonx.Canonical(v)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The value is not valid JSON: %s.", err).At(path...)
	}
	// Numbers may be longer when they are written out.
	if len(canonical) > MaxResultBytes {
		return nil, tooLarge(len(canonical), path...)
	}
	if jsonx.HasNUL(canonical) {
		return nil, fault.New(fault.Invalid, "The value holds a NUL character, which can't be stored; remove it.").At(path...)
	}
	return models.JSON(canonical), nil
}

func tooLarge(n int, path ...string) error {
	return fault.New(fault.LimitReached, "The value has %d bytes; at most %d are allowed. Store it elsewhere and send its location.",
		n, MaxResultBytes).At(path...)
}
