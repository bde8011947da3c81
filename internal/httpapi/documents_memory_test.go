package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/generated"
)

// TestParsedDocumentsStayWithinTheirMemory is not parallel: it counts what the whole process holds. Strangers may leave documents in the
// cache, and a short text may stand for much: what is kept is within a small factor of what is configured.
func TestParsedDocumentsStayWithinTheirMemory(t *testing.T) {
	const capacity = 4 << 20
	for name, inside := range map[string]string{
		"fields":     strings.Repeat("id ", 990),
		"directives": strings.Repeat("id ", 900) + strings.Repeat("id@include(if:true)", 49),
		"little":     "id",
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Limits: Limits{CachedDocumentBytes: capacity}}.withDefaults()
			engine, err := newEngine(cfg, generated.NewExecutableSchema(generated.Config{}), slog.New(slog.DiscardHandler), unmetered{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			held := func() int {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc)
			}
			before := held()
			for i := range 1000 {
				document := fmt.Sprintf("{a%d:org{%s}}", i, inside)
				if _, errs := engine.prepare(context.Background(), &request{query: document}); len(errs) > 0 {
					t.Fatal(errs)
				}
			}
			if grown := held() - before; grown > 2*capacity {
				t.Errorf("they hold %d KiB, of %d KiB", grown>>10, capacity>>10)
			}
			if n := len(engine.documents.parsed.byKey); n == 0 {
				t.Error("none is kept")
			}
			runtime.KeepAlive(engine)
		})
	}
}
