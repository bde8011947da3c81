package httpapi

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/store"
)

// renderer makes answers of events: one execution of a subscription by gqlgen, whose resolver has returned its channel.
type renderer struct {
	engine *engine
	ctx    context.Context
	next   graphql.ResponseHandler
	// show fills the channel. Without it the resolver does.
	show events.Show
	// channel is what the resolver has returned.
	channel any
	// memory is the share of the subscriber's organization; nil when the answers are for all who ask the same.
	memory store.Memory
}

// begin executes the subscription. resolve returns the channel in place of the resolver.
func (r *renderer) begin(ctx context.Context, resolve graphql.FieldMiddleware) {
	op := graphql.GetOperationContext(ctx)
	around := op.ResolverMiddleware
	defer func() { op.ResolverMiddleware = around }()
	op.ResolverMiddleware = resolve
	r.next = r.engine.executable.Exec(ctx)
}

// subscribe begins with a new subscription.
func (r *renderer) subscribe(ctx context.Context) {
	r.begin(ctx, func(ctx context.Context, next graphql.Resolver) (channel any, err error) {
		r.channel, err = r.engine.aroundField(ctx, next)
		return r.channel, err
	})
}

// renew begins anew with the same channel: an execution keeps the memory of its largest answer for the next one.
func (r *renderer) renew() {
	ctx := graphql.WithResponseContext(r.ctx, r.engine.errors.present, r.engine.errors.recovered)
	r.begin(ctx, func(context.Context, graphql.Resolver) (any, error) { return r.channel, nil })
}

var errNoAnswer = errors.New("an event was not delivered")

// render makes an answer of an event; nil when the subscriber must not see it. held and the errors are those of answer.
func (r *renderer) render(ctx context.Context, item *events.Item) (resp *graphql.Response, held *store.Bytes, err error) {
	shown, err := r.show(item)
	if !shown || err != nil {
		return nil, nil, err
	}
	if resp, held, err = r.answer(ctx); resp != nil || err != nil {
		return resp, held, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return nil, nil, errNoAnswer
}

// answer makes one of what is in the channel, waiting for it; nil once that is closed, or ctx has ended. held is the memory that the answer
// takes until End is called; nil when it takes none. It fails with store.ErrMemoryFull when there is too little.
func (r *renderer) answer(ctx context.Context) (resp *graphql.Response, held *store.Bytes, err error) {
	ctx, held = store.WithBytes(ctx, r.engine.limits.AnswerBytes, r.memory)
	keep := 0
	defer func() {
		if !held.Keep(keep) {
			held = nil
		}
	}()
	ctx = graphql.WithResponseContext(ctx, r.engine.errors.present, r.engine.errors.recovered)
	resp = r.next(ctx)
	if resp != nil && cap(resp.Data) > maxPooled && r.memory != nil {
		r.renew()
	}
	switch err := held.Err(); {
	case errors.Is(err, store.ErrMemoryFull):
		return nil, held, err
	case err != nil:
		return &graphql.Response{Errors: gqlerror.List{r.engine.noBytes(err)}}, held, nil
	case resp != nil:
		resp.Errors = append(resp.Errors, graphql.GetErrors(ctx)...)
		keep = len(resp.Data)
	}
	return resp, held, nil
}

// renderers are those of one operation, for all who subscribe with it: an answer is made once, whoever it is for.
type renderers struct {
	free chan *renderer

	once sync.Once
	// write makes an answer's data without any of them; nil when the selection needs them.
	write events.Write
}

func newRenderers() *renderers {
	return &renderers{free: make(chan *renderer, runtime.GOMAXPROCS(0))}
}

// writeWith has answers written by what the first subscriber's resolver gave: it is the same for all who ask the same.
func (rs *renderers) writeWith(write events.Write) { rs.once.Do(func() { rs.write = write }) }

// data makes an answer's data of an event without executing anything; nil when that can't be.
func (rs *renderers) data(item *events.Item) []byte {
	if rs.write == nil {
		return nil
	}
	return rs.write(item)
}

// add lets others use a renderer. One more than there are processors would not help: it is dropped.
func (rs *renderers) add(r *renderer) {
	select {
	case rs.free <- r:
	default:
	}
}

// render makes an answer of an event. ctx is that of who asks; errors are told to them.
func (rs *renderers) render(ctx context.Context, item *events.Item) (*graphql.Response, error) {
	r := <-rs.free // whoever has one gives it back without waiting for anything
	defer rs.add(r)
	// The context of a renderer never ends. If it did, gqlgen might leave an event in the channel, for somebody else.
	resp, _, err := r.render(auth.WithRequest(r.ctx, auth.RequestFrom(ctx)), item)
	if resp != nil {
		resp.Data = bytes.Clone(resp.Data)
	}
	return resp, err
}

// shareable reports whether the answers of a subscription depend on nothing but the event: neither on the variables nor
// on who asks. Fields that lead from an event to other objects have a rule of the authorizer, which does.
func (e *engine) shareable(op *ast.OperationDefinition) bool {
	if op.Operation != ast.Subscription || len(op.SelectionSet) != 1 {
		return false
	}
	root, ok := op.SelectionSet[0].(*ast.Field)
	return ok && len(root.Directives) == 0 && e.onlyEvents(root.SelectionSet)
}

func (e *engine) onlyEvents(set ast.SelectionSet) bool {
	for _, sel := range set {
		var directives ast.DirectiveList
		var below ast.SelectionSet
		switch sel := sel.(type) {
		case *ast.Field:
			if len(sel.Arguments) > 0 || e.authorizer.guards(e.types, sel) {
				return false
			}
			directives, below = sel.Directives, sel.SelectionSet
		case *ast.InlineFragment:
			directives, below = sel.Directives, sel.SelectionSet
		case *ast.FragmentSpread:
			directives, below = sel.Directives, sel.Definition.SelectionSet
		}
		if len(directives) > 0 || !e.onlyEvents(below) {
			return false
		}
	}
	return true
}
