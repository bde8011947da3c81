package runtime

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
)

// TestADriverReadsTheFilesOfItsStep has users write a file before a turn, during it, and in another process. Each call of a model reads what was
// written before its step began. As long as there are no files, it asks the database nothing.
func TestADriverReadsTheFilesOfItsStep(t *testing.T) {
	t.Parallel()
	storetest.EachCounted(t, func(t *testing.T, db *store.DB, counter *storetest.Count) {
		w := newWorld(t, db)
		const path = "/workspace/plan"
		var reads []string
		var statements []int64
		reading := func(first llm.Response) playFunc {
			play := answers(first)
			return func(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
				counter.Reset()
				counter.On.Store(true)
				content, err := req.ReadFile(ctx, path)
				counter.On.Store(false)
				if errors.Is(err, fs.ErrNotExist) {
					content = []byte("nothing")
				} else if err != nil {
					t.Error(err)
				}
				reads, statements = append(reads, string(content)), append(statements, counter.Statements.Load())
				return play(ctx, req, emit)
			}
		}
		done := answer(llm.FinishStop, textPart("done"))
		lonely := func(c *Config) { c.PollInterval = patience }
		n := w.start(lonely)
		s := w.newSession(n)
		turn := func(n *node, first llm.Response) {
			t.Helper()
			n.puppet.on(reading(first))
			id := n.send(s, "go")
			w.idle(s)
			if row := w.turn(id); row.Status != models.TurnCompleted {
				t.Fatalf("the turn is %+v", row)
			}
			n.settled(s)
		}
		w.probe.on("user", func(context.Context, *tools.Call) tools.Result {
			n.write(s, path, "during the first turn")
			return tools.Success("written")
		})
		turn(n, answer(llm.FinishToolCalls, callPart("", "once", `{"tag":"user"}`)))
		n.write(s, path, "before the second turn")
		turn(n, done)
		n.stop()
		turn(w.start(lonely), done)
		want := []string{"nothing", "during the first turn", "before the second turn", "before the second turn"}
		if !slices.Equal(reads, want) {
			t.Errorf("the model's calls have read %q, want %q", reads, want)
		}
		if statements[0] != 0 {
			t.Errorf("without files a read takes %d statements", statements[0])
		}
	})
}
