package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const (
	remoteTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + remoteTrace + "-00f067aa0ba902b7-01"
)

// traced makes a server whose spans are recorded.
func traced(t *testing.T, change ...func(*Config)) (*bench, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	b := setup(t, change...)
	b.server.engine.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	b.server.engine.aroundField = b.server.engine.fieldMiddleware()
	return b, recorder
}

func TestTraceOfAnOperation(t *testing.T) {
	t.Parallel()
	b, recorder := traced(t)
	b.query(`query Named($id: ID!) { serverInfo { name } node(id: $id) { id } viewer { org { id name defaultHarness { id } defaultModel { id } } } }`,
		map[string]any{"id": "planted-secret"}, signedIn)
	names := map[string]string{}
	spans := recorder.Ended()
	for _, span := range spans {
		if strings.Contains(fmt.Sprint(tracetest.SpanStubFromReadOnlySpan(span)), "planted-secret") {
			t.Errorf("a variable is in %s", span.Name())
		}
		for _, parent := range spans {
			if span.Parent().SpanID() == parent.SpanContext().SpanID() {
				names[span.Name()] = parent.Name()
			}
		}
	}
	// Fields without a resolver have no span.
	want := map[string]string{
		"Query.serverInfo": "graphql query", "Query.node": "graphql query", "Query.viewer": "graphql query",
		"Org.defaultHarness": "Query.viewer", "Org.defaultModel": "Query.viewer",
	}
	if fmt.Sprint(names) != fmt.Sprint(want) || len(spans) != len(want)+1 {
		t.Errorf("%d spans: %v, want %v", len(spans), names, want)
	}
	said := fmt.Sprint(spans[len(spans)-1].Attributes())
	for _, part := range []string{"{graphql.operation.name Named}", "{graphql.operation.type query}", "ostler.request.id", "{ostler.graphql.code INTERNAL}"} {
		if !strings.Contains(said, part) {
			t.Errorf("the operation's span says %s, and not %s", said, part)
		}
	}
	for _, span := range spans {
		if text := fmt.Sprint(span.Status(), span.Events()); strings.Contains(text, "secret_table") {
			t.Errorf("%s tells the text of an error: %s", span.Name(), text)
		}
	}
}

// Who may not be asked has no span: what is refused never ran.
func TestTraceOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	b, recorder := traced(t)
	b.query(`{ viewer { org { id } } }`, nil)
	if spans := recorder.Ended(); len(spans) != 1 || spans[0].Name() != "graphql query" {
		t.Errorf("%d spans", len(spans))
	}
}

func TestTraceOfTheCaller(t *testing.T) {
	t.Parallel()
	ask := func(b *bench, header string) { b.query("{__typename}", nil, with("Traceparent", header)) }

	b, recorder := traced(t)
	ask(b, traceparent)
	ask(b, "00-nonsense")
	ask(b, "")
	for i, span := range recorder.Ended() {
		if span.SpanContext().TraceID().String() == remoteTrace || span.Parent().IsValid() {
			t.Errorf("a stranger's trace is gone on with: %v", span.Parent())
		}
		links := span.Links()
		if (i == 0) != (len(links) == 1) || i == 0 && links[0].SpanContext.TraceID().String() != remoteTrace {
			t.Errorf("request %d has the links %v", i, links)
		}
	}

	b, recorder = traced(t, behindProxy)
	ask(b, traceparent)
	if span := recorder.Ended()[0]; span.Parent().TraceID().String() != remoteTrace || span.SpanContext().TraceID().String() != remoteTrace || len(span.Links()) != 0 {
		t.Errorf("the trace of a trusted proxy is not gone on with: %v, %v", span.Parent(), span.Links())
	}
}

// Without a tracer fields run as if there were no traces, and an operation costs nothing more.
func TestNoTraceCostsNothing(t *testing.T) {
	b := setup(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", traceparent)
	op, errs := b.server.engine.prepare(t.Context(), &request{query: "{__typename}"})
	if len(errs) != 0 {
		t.Fatal(errs)
	}
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		in := b.server.engine.traceOperation(b.server.fromTrace(ctx, r), op)
		b.server.engine.endOperationTrace(in, codeOK)
	})
	if n != 0 {
		t.Errorf("it costs %v allocations", n)
	}
}
