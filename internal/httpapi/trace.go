package httpapi

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/auth"
)

// Spans: a query or a mutation has its resolvers, and they have the statements of the database. They tell the names of types and fields,
// codes and ids; no documents, no variables, no text of an error. Without a tracer nothing is made.

type callerTraceKey struct{}

// fromTrace takes in what the request says of the trace that it belongs to. A trusted proxy's is gone on with. Anybody else's is only
// linked: a stranger must not decide which of our spans are kept, nor put them into traces of others.
func (s *Server) fromTrace(ctx context.Context, r *http.Request) context.Context {
	if s.engine.tracer == nil || r.Header.Get("Traceparent") == "" {
		return ctx
	}
	remote := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header)))
	switch {
	case !remote.IsValid():
		return ctx
	case s.fromTrustedProxy(r):
		return trace.ContextWithRemoteSpanContext(ctx, remote)
	}
	return context.WithValue(ctx, callerTraceKey{}, remote)
}

// traceOperation begins the span of an operation.
func (e *engine) traceOperation(ctx context.Context, op *operation) context.Context {
	if e.tracer == nil {
		return ctx
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("graphql.operation.type", string(op.kind)), attribute.String("graphql.operation.name", clipMessage(op.context.OperationName)),
		attribute.String("ostler.request.id", auth.RequestFrom(ctx).ID))}
	if p := auth.FromContext(ctx); p != nil {
		options = append(options, trace.WithAttributes(attribute.String("ostler.org.id", p.OrgID.String())))
	}
	if remote, ok := ctx.Value(callerTraceKey{}).(trace.SpanContext); ok {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
	}
	ctx, _ = e.tracer.Start(ctx, "graphql "+string(op.kind), options...) //nolint:spancheck // ended by endOperationTrace
	return ctx
}

func (e *engine) endOperationTrace(ctx context.Context, code string) {
	if e.tracer == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.String("ostler.graphql.code", code))
	if code == codeInternal || code == codeTimeout || code == codeUnavailable {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// fieldMiddleware returns what runs around every field. Only fields with a resolver of their own get a span, which are those that may ask
// the database, and only when they may be read. The span around it is the operation's or that of the field above, which may have ended.
func (e *engine) fieldMiddleware() graphql.FieldMiddleware {
	if e.tracer == nil {
		return e.authorizer.field
	}
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		if around := trace.SpanContextFromContext(ctx); !fc.IsResolver || !around.IsSampled() || around.IsRemote() {
			return e.authorizer.field(ctx, next)
		}
		return e.authorizer.field(ctx, func(ctx context.Context) (any, error) {
			ctx, span := e.tracer.Start(ctx, fc.Object+"."+fc.Field.Name)
			defer span.End()
			result, err := next(ctx)
			if err != nil {
				span.SetStatus(codes.Error, "")
			}
			return result, err
		})
	}
}
