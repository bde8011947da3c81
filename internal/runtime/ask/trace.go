package ask

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// trace begins the span of a call of a model.
func (m *Models) trace(ctx context.Context, of *catalog.RunModel, attempt int) context.Context {
	if m.cfg.Tracer == nil {
		return ctx
	}
	ctx, _ = m.cfg.Tracer.Start(ctx, "model call", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes( //nolint:spancheck // ended by its counterpart
		attribute.String("ostler.provider.kind", string(of.Provider.Kind)), attribute.String("ostler.provider.id", of.Provider.ID.String()),
		attribute.String("ostler.model.id", of.Model.ID.String()), attribute.Int("ostler.attempt", attempt)))
	return ctx
}

func (m *Models) endTrace(ctx context.Context, took models.Usage, err error) {
	if m.cfg.Tracer == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.Int64("ostler.usage.input_tokens", took.InputTokens), attribute.Int64("ostler.usage.output_tokens", took.OutputTokens))
	if err != nil {
		span.SetStatus(codes.Error, "")
		if failure, ok := errors.AsType[*llm.Error](err); ok {
			span.SetAttributes(attribute.String("ostler.error.code", string(failure.Code)), attribute.Int("ostler.error.status", failure.Status))
		}
	}
	span.End()
}
