package runtime

import (
	"context"
	"testing"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// slowCatalog stops who asks it at a gate, whatever happens to them meanwhile.
type slowCatalog struct {
	Catalog
	gate *gate
}

func (c slowCatalog) EffectiveForSession(ctx context.Context, org models.OrgID, run catalog.Run) (*catalog.Effective, error) {
	c.gate.hold()
	return c.Catalog.EffectiveForSession(context.WithoutCancel(ctx), org, run)
}

// TestARunnerThatIsLateDoesNotRunWhatAnotherHasBegun has a runner that claims a turn in the middle of its act and is taken for dead before it
// has read the journal. What it reads then are calls that its successor has begun.
func TestARunnerThatIsLateDoesNotRunWhatAnotherHasBegun(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first, second, late := w.probe.add(), w.probe.add(), newGate()
		hold := func(g *gate) func(context.Context, *tools.Call) tools.Result {
			return func(_ context.Context, c *tools.Call) tools.Result {
				if w.probe.ran(c.CallID) == 1 {
					g.hold()
				}
				return tools.Success(nil)
			}
		}
		w.probe.on("first", hold(first))
		w.probe.on("second", hold(second))
		a := w.start()
		s := w.newSession(a)
		a.send(s, script(t, says(callTool("ordered", "first"), callTool("ordered", "second")), says(text("end"))))
		<-first.arrived
		a.die()
		b := w.start(func(c *Config) { c.Catalog = slowCatalog{c.Catalog, late} })
		<-late.arrived
		b.die()
		w.start()
		<-second.arrived
		late.open()
		b.engine.work.Wait()
		if n := w.probe.ran("second"); n != 1 {
			t.Errorf("a call that must run at most once ran %d times", n)
		}
		first.open()
		second.open()
		w.idle(s)
	})
}
