package runtime

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// The crash matrix is data: every named point of a turn, times everything that can happen to the process there. The turn
// asks the model, calls a tool that must run at most once, then one that may be repeated, and asks the model again:
//
//	send | model 1 | reason | first tool | settle 1 | second tool | settle 2 | model 2 | finish
//
// Where the process that takes the message does not run the turn, it is claimed from the queue, and begins with a commit of its own. All rows are
// there twice, without budgets and under some that are in force: the oracles of a session at rest tell then whether anything was lost, or
// taken twice.

// mishap is what happens to the process.
type mishap string

const (
	// kill: the process is gone; another one takes over. It is really frozen, and comes back after the other has finished.
	kill mishap = "kill"
	// stall: it stands still for a while, and nobody notices.
	stall mishap = "stall"
	// failure: what was tried fails. After a commit it is the reply that gets lost.
	failure mishap = "failure"
	// shutdown: it is told to go down, and another one goes on.
	shutdown mishap = "shutdown"
)

// The recovery from a kill may be hit as well: the second runner is killed before or after the commit that takes the step over, or in
// its own call of the model.
const (
	takenOver = "taken over"
	askedAnew = "asked anew"
)

var recoveryPoints = append(slices.Clone(commitPoints[:3]), takenOver, askedAnew)

// stages of the turn, in order.
const (
	stageSend = iota
	stageBegin
	stageModel1
	stageReason
	stageTool1
	stageSettle1
	stageTool2
	stageSettle2
	stageModel2
	stageFinish
	// stageHold is between stageBegin and stageModel1, and under budgets alone: the message of a turn that was claimed is larger than what was held
	// for it unread.
	stageHold
)

// commitsOf are the stages that are commits, with their names, and how many the runner has made before.
var commitsOf = []struct {
	stage, before int
	name          string
}{
	{stageSend, 0, "send"}, {stageBegin, 0, "begin"}, {stageReason, 1, "reason"}, {stageSettle1, 2, "settle 1"},
	{stageSettle2, 3, "settle 2"}, {stageFinish, 4, "finish"},
}

// The points within a stage. Those of a commit are the committer's.
var (
	commitPoints = []string{"begin", "loaded", "written", "committed"}
	modelPoints  = []string{"asked", "streaming", "checkpointed", "answered"}
	toolPoints   = []string{"called", "worked"}
)

// crash is a row of the matrix.
type crash struct {
	name   string
	stage  int
	point  string
	mishap mishap
	// after is true when the stage was committed when it happened.
	after bool
	// commit counts the runner's commits before that of the stage.
	commit int
	// policy is what the harness says of lost answers.
	policy models.StreamRecovery
	// again is where the second runner is killed, too; empty for nowhere.
	again string
	// budgeted is true when the turn runs under budgets.
	budgeted bool
}

func crashes() []crash {
	rows := crashesOnce()
	for _, row := range slices.Clone(rows) {
		row.name, row.budgeted = "under budgets, "+row.name, true
		rows = append(rows, row)
	}
	for _, point := range commitPoints {
		for _, m := range []mishap{kill, stall, failure} {
			rows = append(rows, crash{
				name: fmt.Sprintf("under budgets, hold, %s: %s", point, m), stage: stageHold, point: point, mishap: m, after: point == "committed",
				commit: 1, policy: models.RecoveryRestart, budgeted: true,
			})
		}
	}
	return rows
}

func crashesOnce() []crash {
	var rows []crash
	add := func(stage, commit int, name, point string, mishaps ...mishap) {
		for _, m := range mishaps {
			rows = append(rows, crash{
				name: fmt.Sprintf("%s, %s: %s", name, point, m), stage: stage, point: point, mishap: m, after: point == "committed", commit: commit,
				policy: models.RecoveryRestart,
			})
		}
	}
	for _, c := range commitsOf {
		for _, p := range commitPoints {
			add(c.stage, c.before, c.name, p, kill, stall, failure)
		}
	}
	for i, stage := range []int{stageModel1, stageModel2} {
		for _, p := range modelPoints {
			add(stage, 0, fmt.Sprintf("model %d", i+1), p, kill, stall, failure, shutdown)
		}
	}
	for i, stage := range []int{stageTool1, stageTool2} {
		for _, p := range toolPoints {
			add(stage, 0, fmt.Sprintf("tool %d", i+1), p, kill, stall, failure, shutdown)
		}
	}
	for i, stage := range []int{stageModel1, stageModel2} {
		for _, policy := range []models.StreamRecovery{models.RecoveryRestart, models.RecoveryFinalize} {
			for _, p := range []string{"streaming", "checkpointed"} {
				for _, again := range append([]string{""}, recoveryPoints...) {
					row := crash{stage: stage, point: p, mishap: kill, policy: policy, again: again}
					if row.name = fmt.Sprintf("model %d, %s: kill, %s", i+1, p, policy); again != "" {
						row.name += ", kill again: " + again
					}
					if again == askedAnew && row.finalized() {
						// There is no call.
						continue
					}
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// finalized reports whether what was saved of an answer is to be the answer.
func (c crash) finalized() bool {
	return c.policy == models.RecoveryFinalize && c.mishap == kill && c.point == "checkpointed"
}

// outcome is what must have come of a row.
type outcome struct {
	// sends tells that the first send was never acknowledged nor done: only the second one counts.
	lost bool
	// recovered is how often a model call was taken over: each time one call more was lost.
	recovered int
	// finalized is true when the lost answer was kept.
	finalized bool
	// interrupted is true when nobody knows what became of the first tool.
	interrupted bool
	// runs1 and runs2 are how often the tools ran.
	runs1, runs2 int
	// failed is true when the turn could not go on.
	failed bool
	// toolFailed are the tools that failed by themselves.
	toolFailed []int
}

// outcome returns what must come of a row. It knows nothing of how the engine does it: only what was committed when it happened.
func (c crash) outcome() outcome {
	o := outcome{runs1: 1, runs2: 1}
	switch c.mishap {
	case failure:
		switch c.stage {
		case stageModel1:
			return outcome{failed: true}
		case stageModel2:
			o.failed = true
		case stageTool1:
			o.toolFailed = []int{0}
		case stageTool2:
			o.toolFailed = []int{1}
		}
		return o
	case stall, shutdown:
		return o
	case kill:
	}
	if c.stage == stageHold {
		// The step has begun, and whether its call was made is not known to others.
		o.recovered = 1
		return o
	}
	// reached is the first stage that is not done.
	reached := c.stage
	switch {
	case c.after && c.stage == stageSend:
		reached = stageModel1
	case c.after:
		reached++
	}
	switch reached {
	case stageSend:
		o.lost = true
	case stageModel1, stageReason, stageModel2, stageFinish:
		o.recovered, o.finalized = 1, c.finalized()
		if !o.finalized && (c.again == takenOver || c.again == askedAnew) {
			o.recovered = 2
		}
		if o.finalized && c.stage == stageModel1 {
			o.runs1, o.runs2 = 0, 0
		}
	case stageTool1:
		// The call was marked as running before it ran: to others it looks the same.
		o.interrupted, o.runs1 = true, 0
		if !c.after && c.stage == stageTool1 {
			o.runs1 = 1
		}
	case stageSettle1:
		o.interrupted = true
	case stageTool2:
		if c.stage == stageTool2 {
			o.runs2 = 2
		}
	case stageSettle2:
		o.runs2 = 2
	}
	return o
}

func TestTheCrashMatrixIsWhole(t *testing.T) {
	rows := crashes()
	if databases := 2; len(rows)*databases < 320 {
		t.Errorf("the matrix has %d rows on each of %d databases, want 320 in all", len(rows), databases)
	}
	if free := slices.IndexFunc(rows, func(r crash) bool { return r.budgeted }); free*2+3*len(commitPoints) != len(rows) {
		t.Errorf("of %d rows the first %d are without budgets, want those that aren't about them alone twice", len(rows), free)
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(rows) {
		t.Error("two rows of the matrix have the same name")
	}
	seen := map[int]map[string]map[mishap]bool{}
	for _, r := range rows {
		if seen[r.stage] == nil {
			seen[r.stage] = map[string]map[mishap]bool{}
		}
		if seen[r.stage][r.point] == nil {
			seen[r.stage][r.point] = map[mishap]bool{}
		}
		seen[r.stage][r.point][r.mishap] = true
	}
	for stage := stageSend; stage <= stageHold; stage++ {
		if len(seen[stage]) == 0 {
			t.Errorf("nothing happens at stage %d", stage)
		}
		for point, mishaps := range seen[stage] {
			for _, m := range []mishap{kill, stall, failure} {
				if !mishaps[m] {
					t.Errorf("no %s at %s of stage %d", m, point, stage)
				}
			}
		}
	}
}
