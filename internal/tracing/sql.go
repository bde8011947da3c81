package tracing

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// maxStatement bounds how much of a statement a span has, in bytes.
const maxStatement = 2 << 10

// SQL traces statements of PostgreSQL, as children of the spans that they belong to. Those that belong to none, such as heartbeats and
// commits for many, have no span: they would be most of all spans and tell little.
//
// Statements are the program's own, with placeholders; what stands for them is never looked at.
type SQL struct{ tracer trace.Tracer }

var (
	_ pgx.QueryTracer = (*SQL)(nil)
	_ pgx.BatchTracer = (*SQL)(nil)
)

// Statements returns what traces statements; nil without a tracer.
func Statements(tracer trace.Tracer) pgx.QueryTracer {
	if tracer == nil {
		return nil
	}
	return &SQL{tracer: tracer}
}

// within reports whether there is a span of this process to be part of; one that has ended will do.
func within(ctx context.Context) bool {
	around := trace.SpanContextFromContext(ctx)
	return around.IsSampled() && !around.IsRemote()
}

func (s *SQL) start(ctx context.Context, name string, attributes ...attribute.KeyValue) context.Context {
	if !within(ctx) {
		return ctx
	}
	ctx, span := s.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...), //nolint:spancheck // ended by end
		trace.WithAttributes(attribute.String("db.system.name", "postgresql")))
	return context.WithValue(ctx, statementKey{}, span) //nolint:spancheck // the same
}

// statementKey is of the span of the statement under way, which is not to be taken for the span around it.
type statementKey struct{}

func end(ctx context.Context, err error) {
	span, ok := ctx.Value(statementKey{}).(trace.Span)
	if !ok {
		return
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		// The text of an error may quote values.
		span.SetStatus(codes.Error, "")
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			span.SetAttributes(attribute.String("db.response.status_code", pg.Code))
		}
	}
	span.End()
}

// TraceQueryStart implements pgx.QueryTracer.
func (s *SQL) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !within(ctx) {
		return ctx
	}
	return s.start(ctx, "SQL "+operation(data.SQL), attribute.String("db.query.text", clip(data.SQL)))
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *SQL) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	end(ctx, data.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (s *SQL) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return s.start(ctx, "SQL batch", attribute.Int("db.operation.batch.size", data.Batch.Len()))
}

// TraceBatchQuery implements pgx.BatchTracer.
func (s *SQL) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if span, ok := ctx.Value(statementKey{}).(trace.Span); ok {
		span.AddEvent("statement", trace.WithAttributes(attribute.String("db.query.text", clip(data.SQL))))
	}
}

// TraceBatchEnd implements pgx.BatchTracer.
func (s *SQL) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	end(ctx, data.Err)
}

// operation returns the first word of a statement.
func operation(statement string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
	word, _, _ = strings.Cut(word, "\n")
	return strings.ToUpper(clip(word))
}

func clip(statement string) string {
	if len(statement) > maxStatement {
		return strings.ToValidUTF8(statement[:maxStatement], "")
	}
	return statement
}
