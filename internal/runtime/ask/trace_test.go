package ask

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
)

// Without a tracer the span of a call costs nothing.
func TestNoTraceOfACall(t *testing.T) {
	m, run := New(Config{}), &catalog.RunModel{}
	if n := testing.AllocsPerRun(100, func() { m.endTrace(m.trace(t.Context(), run, 1), models.Usage{}, nil) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
