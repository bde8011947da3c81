package resolvers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// optionsFor returns the options of a subscription that the transport, or else serve, reads.
func optionsFor(ctx context.Context) (opts events.Options) {
	if feed := events.FeedFrom(ctx); feed != nil {
		opts.Wake, opts.Allowance, opts.Mark = feed.Wake, feed.Allowance, feed.Mark
	}
	return opts
}

// serve hands a subscription to the transport, or else pumps it into the channel.
func serve(ctx context.Context, source *eventSource) (<-chan model.Event, error) {
	feed := events.FeedFrom(ctx)
	// Whatever waits for a slow reader waits in the subscription, where it is bounded, merged and shared.
	out := make(chan model.Event, 1)
	if feed != nil {
		feed.Take(source, func(item *events.Item) (bool, error) {
			ev, err := shownEvent(item)
			if ev == nil || err != nil {
				return false, err
			}
			out <- ev
			return true, nil
		}, directWriter(ctx))
		return out, nil
	}
	go func() {
		defer close(out)
		defer source.Close()
		defer func() {
			if p := recover(); p != nil {
				auth.EndStream(ctx, fmt.Errorf("panic in a subscription: %v\n%s", p, debug.Stack()))
			}
		}()
		if err := source.pump(ctx, out); err != nil && ctx.Err() == nil {
			auth.EndStream(ctx, err)
		}
	}()
	return out, nil
}

// eventSource is a subscription with its filters.
type eventSource struct {
	*events.Subscription
	kinds []model.EventKind
	// agent is the one whose sessions the events must be of; nil for any.
	agent *models.AgentID
	// position returns where a reader of the last event is in the stream, as the argument "after" takes it or, for one that takes a
	// number, as events.ParsePlace does.
	position func(*events.Item, events.Mark) string
	// failure returns the error that the stream ends with, as the caller is to see it.
	failure func(error) error
}

func (s *eventSource) wants(item *events.Item) bool {
	e := &item.Event
	if e.Kind == models.EventCaughtUp {
		return true
	}
	return (s.kinds == nil || slices.Contains(s.kinds, model.EventKind(e.Kind))) &&
		(s.agent == nil || e.AgentID != nil && *e.AgentID == *s.agent)
}

// Poll implements events.Source.
func (s *eventSource) Poll(ctx context.Context) (*events.Item, error) {
	for {
		item, err := s.Subscription.Poll(ctx)
		if err != nil {
			return nil, s.failure(err)
		}
		if item == nil || s.wants(item) {
			return item, nil
		}
	}
}

// Undelivered implements events.Source.
func (s *eventSource) Undelivered(item *events.Item) error {
	return s.failure(s.Subscription.Undelivered(item))
}

// Position implements events.Positioned.
func (s *eventSource) Position(item *events.Item) string { return s.position(item, s.Mark()) }

// pump hands events on until something fails or ctx ends, for transports that only read the channel.
func (s *eventSource) pump(ctx context.Context, out chan<- model.Event) error {
	for {
		item, err := s.Next(ctx)
		if err != nil {
			return s.failure(err)
		}
		if !s.wants(item) {
			continue
		}
		ev, err := shownEvent(item)
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

// shownEvent returns an event as the subscriber is to see it; nil when it must not see it.
func shownEvent(item *events.Item) (model.Event, error) {
	ev, err := encodeEvent(item)
	if errors.Is(err, events.ErrUnknownKind) {
		// The schema of this version has no name for it, and the version that has is on its way.
		return nil, nil
	}
	return ev, err
}

// laggedError returns an error that has the place to resume at under a name, and again says how.
func laggedError(lagged *events.LaggedError, again, name string, place any) *gqlerror.Error {
	e := &gqlerror.Error{Message: "Events came faster than they were read. " + again, Extensions: map[string]any{"code": "SUBSCRIPTION_LAGGED", name: place}}
	if lagged.Memory {
		e.Message = "Too many large answers of your organization, or of this server, wait to be read. Read them, or ask for less with each event. " + again
		e.Extensions["limit"], e.Extensions["retryAfterSeconds"] = "MEMORY", 1
	}
	return e
}

// streamError returns the error that a stream ends with, as the caller is to see it.
func streamError(err error) error {
	if lagged, ok := errors.AsType[*events.LaggedError](err); ok {
		return laggedError(lagged, fmt.Sprintf("Subscribe again with after: %d.", lagged.LastSequence), "lastSequence", lagged.LastSequence)
	}
	if lost, ok := errors.AsType[*events.LostPlaceError](err); ok {
		what := fmt.Sprintf("ends at %d, before the given position", lost.LastSequence)
		if lost.Replaced {
			what = "has another event at the given position"
		}
		return &gqlerror.Error{
			Message: fmt.Sprintf("The log of this session %s. The database was restored from a backup, or the position "+
				"is of another session. Discard what you have read of it, and subscribe again with after: 0.", what),
			Extensions: map[string]any{"code": "BAD_USER_INPUT", "lastSequence": lost.LastSequence},
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
