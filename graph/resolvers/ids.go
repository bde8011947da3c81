package resolvers

import (
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// decodeID reads an id that a client gave. What is no id of this kind names nothing, so it is NOT_FOUND, like an id that
// nobody has; path leads to the argument.
func decodeID[E models.Entity](s string, path ...string) (models.ID[E], error) {
	id, err := models.ParseID[E](s)
	if err != nil {
		return id, fault.New(fault.NotFound, "%s.", err).At(path...)
	}
	return id, nil
}

// decodeIDPtr is decodeID for an id that may be left out.
func decodeIDPtr[E models.Entity](s *string, path ...string) (*models.ID[E], error) {
	if s == nil {
		return nil, nil
	}
	id, err := decodeID[E](*s, path...)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// orNull turns NOT_FOUND into null, which is what a query answers for what isn't there.
func orNull[T any](v *T, err error) (*T, error) {
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return v, err
}
