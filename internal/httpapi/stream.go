package httpapi

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/store"
)

// stream is a running subscription. There may be very many at rest, so it holds on to as little as possible: not to the
// operation, and to no gqlgen execution if it can use a shared one.
type stream struct {
	engine *engine
	ctx    context.Context
	ended  *auth.Stream
	field  *ast.Field
	// extensions go with each answer.
	extensions map[string]any
	// source returns the events. Without one the resolver puts them into the channel that own reads.
	source events.Source
	// space is where the answers go; nil where one is made after the other.
	space space
	// at is the event of the last answer; nil while the stream is at rest, so that it doesn't hold the event.
	at *events.Item
	// One of the two makes answers of events.
	shared *renderers
	own    *renderer
}

// space is what the answers of several streams share.
type space interface {
	// reserve waits until there is room for an answer of about so many bytes.
	reserve(size int)
	// unreserve releases the space that was reserved last, when there is no answer.
	unreserve()
}

// subscribe starts a subscription. It ends with ctx, and with the feed.
func (e *engine) subscribe(ctx context.Context, op *operation, feed *events.Feed) (s *stream, errs gqlerror.List) {
	ctx, ended := auth.WithStream(ctx)
	start := e.within(events.WithFeed(ctx, feed), op)
	defer func() {
		if r := recover(); r != nil {
			s, errs = nil, gqlerror.List{e.errors.panicked(ctx, r)}
		}
		e.meter.Operation(string(op.kind), firstCode(errs), 0)
	}()
	r := &renderer{engine: e}
	r.subscribe(start)
	if errs := graphql.GetErrors(start); len(errs) != 0 {
		return nil, errs
	}
	s = &stream{engine: e, ctx: ctx, ended: ended, extensions: e.extensions(op)}
	if fields := graphql.CollectFields(op.context, op.context.Operation.SelectionSet, []string{"Subscription"}); len(fields) == 1 {
		s.field = fields[0].Field
	}
	var write events.Write
	s.source, r.show, write = feed.Taken()
	if s.source != nil && op.shared != nil {
		s.shared = op.shared
		ctx = context.Background() // it must know nothing of this subscriber
	}
	r.ctx = withRootField(graphql.WithOperationContext(ctx, op.context), s.field)
	if s.shared == nil {
		s.own, r.memory = r, e.memoryOf(ctx)
	} else {
		s.shared.writeWith(write)
		s.shared.add(r)
	}
	return s, nil
}

// withRootField makes errors have the path of the root field in front; gqlgen leaves it out.
func withRootField(ctx context.Context, field *ast.Field) context.Context {
	ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription"})
	if field == nil {
		return ctx
	}
	collected := graphql.CollectedField{Field: field, Selections: field.SelectionSet}
	return graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: collected, Args: map[string]any{}})
}

// progress is what became of asking a stream for its next answer.
type progress int

const (
	streamEnded progress = iota
	// streamRests means that there is no answer now, and that the feed's Wake tells when to ask again.
	streamRests
	streamAnswers
)

// streamAnswer is what became of asking a stream for its next answer, and the answer.
type streamAnswer struct {
	what progress
	// resp is nil unless there is an answer. Its data is only good until the next is asked for.
	resp *graphql.Response
	// held is the memory of the organization that the answer takes until End is called, which is once it was sent or dropped; nil when it takes none.
	held *store.Bytes
}

// event returns the next answer.
func (s *stream) event() (answer streamAnswer) {
	defer func() {
		if r := recover(); r != nil {
			auth.EndStream(s.ctx, s.engine.errors.panicked(s.ctx, r))
			answer = streamAnswer{}
		}
	}()
	for {
		answer, err := s.step()
		if err != nil {
			auth.EndStream(s.ctx, err)
			return streamAnswer{}
		}
		if answer.what != streamAnswers {
			return answer
		}
		if answer.resp != nil {
			answer.resp.Extensions = s.extensions
			return answer
		}
	}
}

// step is event, except that an event which the subscriber must not see is an answer of nothing.
func (s *stream) step() (answer streamAnswer, err error) {
	if s.source == nil {
		answer.resp, answer.held, err = s.own.answer(s.own.ctx)
		if errors.Is(err, store.ErrMemoryFull) {
			err = s.engine.noBytes(err)
		}
		if answer.resp != nil {
			answer.what = streamAnswers
		}
		return answer, err
	}
	if err := s.ctx.Err(); err != nil {
		return answer, err // the feed was closed before there was a source
	}
	s.at = nil // before the poll: once that gives nothing, the stream belongs to whoever is woken
	item, err := s.source.Poll(s.ctx)
	if err != nil {
		return answer, err
	}
	if item == nil {
		return streamAnswer{what: streamRests}, nil
	}
	s.at, answer.what = item, streamAnswers
	if s.space != nil {
		s.space.reserve(item.Size())
	}
	if s.own == nil {
		answer.resp, err = s.share(item)
	} else if answer.resp, answer.held, err = s.own.render(s.own.ctx, item); errors.Is(err, store.ErrMemoryFull) {
		err = s.source.Undelivered(item)
	}
	if answer.resp == nil && s.space != nil {
		s.space.unreserve() // while the stream is still the caller's
	}
	return answer, err
}

// share makes the answer to an event that others may have, too.
func (s *stream) share(item *events.Item) (answer *graphql.Response, err error) {
	data := item.Bytes(s.shared, func() []byte {
		if data := s.shared.data(item); data != nil {
			return data
		}
		if answer, err = s.shared.render(s.ctx, item); answer == nil || err != nil || len(answer.Errors) > 0 {
			return nil // errors tell of the one who asked
		}
		return answer.Data
	})
	if data != nil {
		return &graphql.Response{Data: data}, nil
	}
	return answer, err
}

// forget lets go of the event of the last answer. The stream must be its caller's still.
func (s *stream) forget() { s.at = nil }

// position is where a client that has got the last answer resumes; "" when the source doesn't know such places.
func (s *stream) position() string {
	if source, ok := s.source.(events.Positioned); ok && s.at != nil {
		return source.Position(s.at)
	}
	return ""
}

// failure is why the stream ended; nil for a plain completion.
func (s *stream) failure() *gqlerror.Error {
	err := s.ended.Err()
	if err == nil {
		return nil
	}
	return s.engine.errors.present(withRootField(s.ctx, s.field), err)
}
