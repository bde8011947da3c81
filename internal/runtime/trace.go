package runtime

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// Spans: a turn has steps, a step has effects (calls of models and of tools). They tell ids, kinds, codes and numbers; nothing that was
// said, asked or answered, and no text of an error, which may quote it. Without a tracer the context stays as it is and nothing is made.

// traceTurn begins the span of a run of a turn: of one runner's share of it.
func (e *Engine) traceTurn(ctx context.Context, t *models.Turn) context.Context {
	if e.cfg.Tracer == nil {
		return ctx
	}
	ctx, _ = e.cfg.Tracer.Start(ctx, "turn", trace.WithNewRoot(), trace.WithAttributes( //nolint:spancheck // ended by its counterpart
		attribute.String("ostler.org.id", t.OrgID.String()), attribute.String("ostler.session.id", t.SessionID.String()),
		attribute.String("ostler.turn.id", t.ID.String()), attribute.Int64("ostler.turn.epoch", t.LeaseEpoch),
		attribute.Int("ostler.turn.recoveries", t.Recoveries)))
	return ctx
}

func (e *Engine) endTurnTrace(ctx context.Context, t *models.Turn) {
	if e.cfg.Tracer == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.String("ostler.turn.status", string(t.Status)))
	if t.StopReason != nil {
		span.SetAttributes(attribute.String("ostler.turn.stop_reason", string(*t.StopReason)))
	}
	if t.Status == models.TurnFailed || t.Status == models.TurnSealed {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// inTrace returns a context that goes on with the trace of another one.
func inTrace(ctx, traced context.Context) context.Context {
	span := trace.SpanFromContext(traced)
	if !span.SpanContext().IsValid() {
		return ctx
	}
	return trace.ContextWithSpan(ctx, span)
}

// traceStep begins the span of a step.
func (e *Engine) traceStep(ctx context.Context, phase models.Phase, iteration int) context.Context {
	if e.cfg.Tracer == nil {
		return ctx
	}
	name := "act"
	if phase == models.PhaseReason {
		name = "reason"
	}
	ctx, _ = e.cfg.Tracer.Start(ctx, name, trace.WithAttributes(attribute.Int("ostler.turn.iteration", iteration))) //nolint:spancheck // ended by its counterpart
	return ctx
}

// endTrace ends the span that ctx was given by traceStep.
func (e *Engine) endTrace(ctx context.Context, err error) {
	if e.cfg.Tracer == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if err != nil && !errors.Is(err, errEnded) && !errors.Is(err, errReleased) {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// traceTool begins the span of an attempt at a call of a tool. The name is the tool's, not what a model wrote.
func (e *Engine) traceTool(ctx context.Context, call *turns.Call) context.Context {
	if e.cfg.Tracer == nil {
		return ctx
	}
	ctx, _ = e.cfg.Tracer.Start(ctx, "tool call", trace.WithAttributes( //nolint:spancheck // ended by its counterpart
		attribute.String("ostler.tool.id", call.Record.Frozen.ToolID), attribute.String("ostler.tool.call_id", call.Record.CallID),
		attribute.Int("ostler.attempt", call.Effect.Attempt)))
	return ctx
}

func (e *Engine) endToolTrace(ctx context.Context, f *finished) {
	if e.cfg.Tracer == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(attribute.Bool("ostler.tool.waits", !f.waits.IsZero()), attribute.Bool("ostler.tool.cut_short", f.cut))
	if f.result.Failed() {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
