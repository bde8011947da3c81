// Package tracing sends OpenTelemetry traces where the standard variables of the environment say, and traces the statements of the
// database. The parts of a process take a trace.Tracer, and do without when it is nil: then a span costs one comparison.
//
// What is in a span is for operators: ids, kinds, codes, numbers, and the texts of our own SQL statements. Never contents of messages,
// arguments, results, documents, variables or texts of errors, which may hold any of them.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Name is what our spans are said to be made by.
const Name = "github.com/ostler-dev/ostler"

// Config reports whether there are traces.
type Config struct {
	// Getenv reads the environment. The variables are those of OpenTelemetry; the SDK reads what isn't read here.
	Getenv  func(string) string
	Version string
	Logger  *slog.Logger
}

// on reports whether the environment names somebody to send traces to.
func (c Config) on() bool {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"} {
		if v := c.Getenv(name); v == "true" || v == "none" {
			return false
		}
	}
	return c.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || c.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Open returns a tracer that sends its spans in the background, and stop, which sends what is left, for at most 5 s. Without anybody to send
// them to the tracer is nil. A collector that is away costs spans, and nothing else.
func Open(ctx context.Context, cfg Config) (tracer trace.Tracer, stop func(), err error) {
	if !cfg.on() {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare to send traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "ostler"), attribute.String("service.version", cfg.Version),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("describe this process for its traces: %w", err)
	}
	// The SDK knows only one place for errors, that of the whole program.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { cfg.Logger.Warn("traces can't be sent", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return provider.Tracer(Name, trace.WithInstrumentationVersion(cfg.Version)), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			cfg.Logger.Warn("the last traces can't be sent", "error", err)
		}
	}, nil
}
