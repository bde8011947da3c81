package resolvers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// sessionEvents starts a stream of a session's events. It ends with ctx.
func (r *Resolver) sessionEvents(ctx context.Context, sessionID string, after *int, kinds []model.EventKind) (<-chan model.Event, error) {
	session, err := decodeID[models.SessionEntity](sessionID, "sessionId")
	if err != nil {
		return nil, err
	}
	var opts events.Options
	if after != nil {
		opts.After = new(int64(*after))
	}
	feed := events.FeedFrom(ctx)
	if feed != nil {
		opts.Wake = feed.Wake
	}
	sub, err := r.Events.Subscribe(ctx, auth.FromContext(ctx).OrgID, session, opts)
	if err != nil {
		return nil, streamError(err)
	}
	source := &sessionSource{sub, kinds}
	// Whatever waits for a slow reader waits in the subscription, where it is bounded, merged and shared.
	out := make(chan model.Event, 1)
	if feed != nil {
		encode := encoderFor(ctx)
		feed.Take(source, func(item *events.Item) (bool, error) {
			ev, err := encode(item)
			if ev == nil || err != nil {
				return false, err
			}
			out <- ev
			return true, nil
		})
		return out, nil
	}
	go func() {
		defer close(out)
		defer sub.Close()
		defer func() {
			if p := recover(); p != nil {
				auth.EndStream(ctx, fmt.Errorf("panic in a subscription: %v\n%s", p, debug.Stack()))
			}
		}()
		if err := source.pump(ctx, encoderFor(ctx), out); err != nil && ctx.Err() == nil {
			auth.EndStream(ctx, err)
		}
	}()
	return out, nil
}

// sessionSource is a subscription with its filter.
type sessionSource struct {
	*events.Subscription
	kinds []model.EventKind
}

func (s *sessionSource) wants(item *events.Item) bool {
	return s.kinds == nil || item.Event.Kind == models.EventCaughtUp || slices.Contains(s.kinds, model.EventKind(item.Event.Kind))
}

// Poll implements events.Source.
func (s *sessionSource) Poll(ctx context.Context) (*events.Item, error) {
	for {
		item, err := s.Subscription.Poll(ctx)
		if err != nil {
			return nil, streamError(err)
		}
		if item == nil || s.wants(item) {
			return item, nil
		}
	}
}

// Position implements events.Positioned.
func (s *sessionSource) Position(item *events.Item) string {
	return strconv.FormatInt(item.Event.Sequence, 10)
}

// pump hands events on until something fails or ctx ends, for transports that only read the channel.
func (s *sessionSource) pump(ctx context.Context, encode encoder, out chan<- model.Event) error {
	for {
		item, err := s.Next(ctx)
		if err != nil {
			return streamError(err)
		}
		if !s.wants(item) {
			continue
		}
		ev, err := encode(item)
		if err != nil {
			return err
		}
		if ev == nil {
			continue
		}
		select {
		case out <- ev:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// encoder gives an event as the subscriber is to see it; nil when it must not see it.
type encoder func(*events.Item) (model.Event, error)

// encoderFor gives the encoder for the selection of the field that is being resolved. What all events have is read
// without decoding their payload.
func encoderFor(ctx context.Context) encoder {
	encode := encodeEvent
	if selectsBaseOnly(graphql.GetFieldContext(ctx).Field.Selections) {
		encode = encodeBase
	}
	return func(item *events.Item) (model.Event, error) {
		ev, err := encode(item)
		if errors.Is(err, events.ErrUnknownKind) {
			// The schema of this version has no name for it, and the version that has is on its way.
			return nil, nil
		}
		return ev, err
	}
}

// selectsBaseOnly tells whether nothing is asked for that only some types of events have: fragments are what that needs.
func selectsBaseOnly(set ast.SelectionSet) bool {
	return !slices.ContainsFunc(set, func(s ast.Selection) bool {
		_, field := s.(*ast.Field)
		return !field
	})
}

// streamError gives the error that a stream ends with, as the caller is to see it.
func streamError(err error) error {
	if lagged, ok := errors.AsType[*events.LaggedError](err); ok {
		return &gqlerror.Error{
			Message:    fmt.Sprintf("Events came faster than they were read. Subscribe again with after: %d.", lagged.LastSequence),
			Extensions: map[string]any{"code": "SUBSCRIPTION_LAGGED", "lastSequence": lagged.LastSequence},
		}
	}
	if errors.Is(err, events.ErrStopped) {
		return &gqlerror.Error{
			Message:    "This server is shutting down. Subscribe again after the last sequence.",
			Extensions: map[string]any{"code": "UNAVAILABLE"},
		}
	}
	return err
}
