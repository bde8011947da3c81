package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// journaled is a log that is read.
type journaled struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *journaled) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *journaled) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// TestReplayMismatch has the journal say, after a crash, that a call was claimed with another input than the one that would run now: it does
// not run, and the turn fails loudly: users, programs and the log are told which effect it is, and both hashes.
//
// Rules: J3.
func TestReplayMismatch(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		first := w.start()
		s := w.newSession(first)
		g := w.probe.add()
		w.probe.on("held", func(context.Context, *tools.Call) tools.Result {
			g.hold()
			return tools.Success("too late")
		})
		turn := first.send(s, script(t, says(callTool("again", "held")), says(text("never"))))
		<-g.arrived
		var call models.Effect
		err := w.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			q := store.Of(tx, w.org).Where("scope_id = ? AND kind = ?", turn, models.EffectTool)
			if err := q.Session(&gorm.Session{}).First(&call).Error; err != nil {
				return err
			}
			return q.Session(&gorm.Session{}).Model(&models.Effect{}).Update("input_hash", []byte{0xab, 0xcd}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		first.die()
		said := &journaled{}
		w.start(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(said, nil)) })
		failed := the[events.TurnFailed](t, w.idle(s))
		if failed.StopReason != models.StopError || w.probe.ran("held") != 1 {
			t.Errorf("it failed as %+v, the tool ran %d times", failed, w.probe.ran("held"))
		}
		failedOnMismatch(t, failed.Error, call.ReplayKey, "abcd", hex.EncodeToString(call.InputHash))
		if row := w.turn(turn); row.Status != models.TurnFailed || row.Error == nil || row.Error.Code != "replay_mismatch" {
			t.Errorf("the turn is %+v", row)
		}
		for _, what := range []string{"replay_mismatch", call.ReplayKey, "abcd", hex.EncodeToString(call.InputHash)} {
			if !said.has(what) {
				t.Errorf("the log doesn't say %s", what)
			}
		}
	})
}

// failedOnMismatch checks what people and programs are told of a mismatch.
func failedOnMismatch(t *testing.T, f models.Failure, effect, recorded, asked string) {
	t.Helper()
	if f.Code != "replay_mismatch" {
		t.Fatalf("it failed as %+v", f)
	}
	for _, part := range []string{effect, recorded, asked} {
		if !strings.Contains(f.Message, part) {
			t.Errorf("the message doesn't say %s: %s", part, f.Message)
		}
	}
	if want := fmt.Sprintf(`{"effect":%q,"recorded":%q,"asked":%q}`, effect, recorded, asked); string(f.Fields) != want {
		t.Errorf("the fields are %s, want %s", f.Fields, want)
	}
}

// TestAStepWithAnotherInput has a tool ask in its second attempt for a step with another input than in its first. Whatever the tool makes
// of the error – here it says that all is well –, the turn fails, the call is said to be interrupted, and the call beside it, which comes
// to an end, keeps its result.
//
// Rules: J3.
func TestAStepWithAnotherInput(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.start()
		s := w.newSession(n)
		stepped := 0
		refused, beside := make(chan error, 1), make(chan struct{})
		w.probe.on("changes", func(ctx context.Context, c *tools.Call) tools.Result {
			<-beside
			_, err := c.DurableStep(ctx, "pay", c.Attempt, func(context.Context) (any, error) {
				stepped++
				return nil, nil
			})
			if c.Attempt == 1 {
				return tools.Result{ToolError: "not now", Retryable: true}
			}
			refused <- err
			return tools.Success("all is well")
		})
		w.probe.on("beside", func(ctx context.Context, _ *tools.Call) tools.Result {
			close(beside)
			<-ctx.Done()
			return tools.Success("just in time")
		})
		turn := n.send(s, script(t, says(callTool("retried", "changes"), callTool("again", "beside")), says(text("never"))))
		log := w.idle(s)
		if err := <-refused; !hasCode(err, "replay_mismatch") {
			t.Errorf("the tool is told %v", err)
		}
		hash := func(input string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(input))) }
		calls := payloads[events.ToolStarted](t, log)
		failedOnMismatch(t, the[events.TurnFailed](t, log).Error, "call/"+calls[0].ToolCallID+"/step/pay", hash("1"), hash("2"))
		if row := w.turn(turn); row.Status != models.TurnFailed || *row.StopReason != models.StopError || row.ModelCalls != 1 || stepped != 1 {
			t.Errorf("the turn is %+v, the step ran %d times", row, stepped)
		}
		for _, done := range payloads[events.ToolCompleted](t, log) {
			if done.ToolName == "again" && string(done.Result) != `"just in time"` {
				t.Errorf("the call beside it ended as %+v", done)
			}
			if done.ToolName == "retried" && (done.Success || !strings.HasPrefix(done.Error, "interrupted")) {
				t.Errorf("the call ended as %+v", done)
			}
		}
	})
}
