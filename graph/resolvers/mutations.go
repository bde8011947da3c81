package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// payload makes the answer of a mutation of the row that a service returned, or of its error.
type payload[T, P any] func(ctx context.Context, row *T, err error) (*P, error)

// create makes something of a client's input.
func create[I, N, T, P any](
	ctx context.Context, input I, decode func(I) (N, error), do func(ctx context.Context, by *auth.Principal, in N) (*T, error), answer payload[T, P],
) (*P, error) {
	in, err := decode(input)
	if err != nil {
		return answer(ctx, nil, err)
	}
	row, err := do(ctx, auth.FromContext(ctx), in)
	return answer(ctx, row, err)
}

// update changes what the argument id names by a client's input.
func update[E models.Entity, I, C, T, P any](
	ctx context.Context, id string, input I, decode func(I) (C, error),
	do func(ctx context.Context, by *auth.Principal, id models.ID[E], change C) (*T, error), answer payload[T, P],
) (*P, error) {
	key, err := decodeID[E](id, "id")
	if err != nil {
		return answer(ctx, nil, err)
	}
	return create(ctx, input, decode, func(ctx context.Context, by *auth.Principal, change C) (*T, error) { return do(ctx, by, key, change) }, answer)
}

// onID does something to what an id names; path leads to the argument.
func onID[E models.Entity, T, P any](
	ctx context.Context, id string, do func(ctx context.Context, by *auth.Principal, id models.ID[E]) (*T, error), answer payload[T, P], path ...string,
) (*P, error) {
	decode := func(id string) (models.ID[E], error) { return decodeID[E](id, path...) }
	return create(ctx, id, decode, do, answer)
}
