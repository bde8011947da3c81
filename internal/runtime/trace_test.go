package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tracing"
	"github.com/ostler-dev/ostler/internal/turns"
)

const plantedSecret = "planted-secret"

// TestTrace looks at the spans of one turn: which there are, what is in what, and that nothing that was said is in any of them.
func TestTrace(t *testing.T) {
	test := func(t *testing.T, open func(trace.Tracer) *store.DB) {
		recorder := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
		tracer := provider.Tracer("test")
		w := newWorld(t, open(tracer))
		n := w.start(func(c *Config) { c.Tracer = tracer })
		s := w.newSession(n)
		w.probe.on(plantedSecret, func(context.Context, *tools.Call) tools.Result { return tools.Success(plantedSecret) })
		w.probe.on(plantedSecret+"-2", func(context.Context, *tools.Call) tools.Result {
			return tools.Result{Internal: errors.New(plantedSecret)}
		})
		// Where there are files the model looks for its script, by a statement.
		n.write(s, "/workspace/notes", plantedSecret)
		// The second step asks the model four times, in vain.
		turn := n.send(s, script(t,
			says(text(plantedSecret), callTool("once", plantedSecret), callTool("once", plantedSecret+"-2")),
			says(fails(503, plantedSecret))))
		w.idle(s)
		n.stop() // the span ends after the turn's last commit

		spans := recorder.Ended()
		byID := map[trace.SpanID]sdktrace.ReadOnlySpan{}
		for _, span := range spans {
			byID[span.SpanContext().SpanID()] = span
		}
		path := func(span sdktrace.ReadOnlySpan) string {
			names := []string{span.Name()}
			for span.Parent().IsValid() {
				parent, ok := byID[span.Parent().SpanID()]
				if !ok {
					names = append(names, "?")
					break
				}
				if parent.StartTime().After(span.StartTime()) || parent.EndTime().Before(span.EndTime()) {
					t.Errorf("%s lasts longer than the %s that it is in", span.Name(), parent.Name())
				}
				span = parent
				names = append(names, span.Name())
			}
			slices.Reverse(names)
			return strings.Join(names, " > ")
		}
		counts := map[string]int{}
		for _, span := range spans {
			where := path(span)
			if before, statement, ok := strings.Cut(where, " > SQL "); ok {
				where = before + " > SQL"
				if strings.Contains(statement, " > ") {
					t.Errorf("a statement has a part: %s > %s", where, statement)
				}
			}
			counts[where]++
			if strings.Contains(fmt.Sprint(tracetest.SpanStubFromReadOnlySpan(span)), plantedSecret) {
				t.Errorf("a secret is in the span %s", path(span))
			}
		}
		for where, want := range map[string]int{
			"turn": 1, "turn > reason": 2, "turn > reason > model call": 5, "turn > act": 1, "turn > act > tool call": 2,
		} {
			if counts[where] != want {
				t.Errorf("%d of %s, want %d: %v", counts[where], where, want, counts)
			}
		}
		statements := 0
		for where, count := range counts {
			if strings.HasSuffix(where, " > SQL") {
				statements += count
			}
			if !strings.HasPrefix(where, "turn") {
				t.Errorf("%s is part of no turn", where)
			}
		}
		if (statements > 0) != (w.db.Pool != nil) {
			t.Errorf("%d statements have a span: %v", statements, counts)
		}
		for _, span := range spans {
			if span.Name() != "turn" {
				continue
			}
			said := fmt.Sprint(span.Attributes())
			for _, want := range []string{turn.String(), s.String(), w.org.String(), string(models.TurnFailed)} {
				if !strings.Contains(said, want) {
					t.Errorf("the turn's span says %s, and not %s", said, want)
				}
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(trace.Tracer) *store.DB { return storetest.SQLite(t) })
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, func(tracer trace.Tracer) *store.DB { return storetest.Traced(t, tracing.Statements(tracer)) })
	})
}

// Without a tracer spans cost nothing.
func TestNoTraceCostsNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, traceNothing()); n != 0 {
		t.Errorf("the spans of a turn cost %v allocations", n)
	}
}

func BenchmarkNoTrace(b *testing.B) {
	b.ReportAllocs()
	for spans := traceNothing(); b.Loop(); {
		spans()
	}
}

// traceNothing returns what makes the spans of a turn with a tool call, for nobody.
func traceNothing() func() {
	e := New(Config{Slots: 1})
	turn, call, done := &models.Turn{}, &turns.Call{}, &finished{}
	return func() {
		ctx := e.traceTurn(context.Background(), turn)
		step := e.traceStep(ctx, models.PhaseReason, 1)
		called := e.traceTool(step, call)
		e.endToolTrace(called, done)
		e.endTrace(step, nil)
		e.endTurnTrace(ctx, turn)
	}
}
