package runtime

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/queue"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// What the sessions of all simulations refer to.
var (
	simOrg      = models.OrgID{15: 1}
	simHarness  = models.HarnessID{15: 2}
	simProvider = models.Provider{OrgID: simOrg, ID: models.ProviderID{15: 9}, Name: "sim", Kind: models.ProviderSimulated}
	simModel    = models.Model{OrgID: simOrg, ID: models.ModelID{15: 9}, ProviderID: simProvider.ID, Name: "sim"}
	// simChoice are the models that people choose.
	simChoice = []models.ModelID{{}, {15: 3}, {15: 4}}
	simPeople = []models.UserID{{14: 9, 15: 1}, {14: 9, 15: 2}, {14: 9, 15: 3}, {14: 9, 15: 4}}
)

// simStore is the SQLite database that simulations are played on, one after the other. One thing runs at a time, and nobody leaves a
// transaction open, so that nobody waits for another one.
type simStore struct {
	*store.DB

	commits  *commit.Simulator
	lineages *events.Lineages
	// empty removes all that a history has left.
	empty string
}

func newSimStore(t testing.TB) *simStore {
	t.Helper()
	db := storetest.SQLite(t)
	err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		rows := []any{
			&models.Org{ID: simOrg, Name: "o", Slug: "o"},
			&models.Harness{OrgID: simOrg, ID: simHarness, Name: "h", Capabilities: []models.CapabilityRef{}},
			&simProvider, &simModel,
		}
		for _, id := range simChoice[1:] {
			rows = append(rows, &models.Model{OrgID: simOrg, ID: id, ProviderID: simProvider.ID, Name: id.String()})
		}
		for _, id := range simPeople {
			rows = append(rows, &models.User{ID: id, EmailKey: id.String()},
				&models.Membership{OrgID: simOrg, ID: models.MembershipID(id), UserID: id, Role: models.RoleMember, CreatedAt: 1})
		}
		for _, row := range rows {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &simStore{DB: db, commits: commit.NewSimulator(db), lineages: events.NewLineages(db)}
	names := func(of string) (list []string) {
		t.Helper()
		if err := db.ReadAcross(t.Context()).Raw("SELECT name FROM sqlite_schema WHERE " + of).Scan(&list).Error; err != nil {
			t.Fatal(err)
		}
		return list
	}
	// Power failures are not simulated, and what is append-only is removed between two histories.
	setUp := "PRAGMA synchronous = OFF"
	for _, trigger := range names("type = 'trigger' AND sql LIKE '%BEFORE DELETE%'") {
		setUp += "; DROP TRIGGER " + trigger
	}
	if _, err := db.Writer.ExecContext(t.Context(), setUp); err != nil {
		t.Fatal(err)
	}
	s.empty = "PRAGMA foreign_keys = OFF; BEGIN"
	for _, table := range names("type = 'table' AND name NOT LIKE 'sqlite_%'") {
		var n int
		if err := db.Reader.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			s.empty += "; DELETE FROM " + table
		}
	}
	s.empty += "; COMMIT; PRAGMA foreign_keys = ON"
	return s
}

// exec changes rows beside the engine.
func (w *simulation) exec(statement string, args ...any) error {
	_, err := w.store.Writer.ExecContext(context.Background(), statement, args...)
	return err
}

// turns reads the turns that meet a condition, in the order in which they were inserted.
func (w *simulation) turns(condition string, args ...any) []models.Turn {
	var list []models.Turn
	err := w.store.Query(context.Background(), w.org, func(r store.Row) error {
		t, err := commit.ScanTurn(r)
		if err == nil {
			list = append(list, *t)
		}
		return err
	}, "SELECT "+commit.TurnColumns("")+" FROM turns WHERE org_id = ? AND "+condition+" ORDER BY rowid", append([]any{w.org[:]}, args...)...)
	if err != nil {
		w.failf("read turns: %v", err)
	}
	return list
}

// read reads the rows that meet conditions.
func read[T any](w *simulation, conds ...any) []T {
	var list []T
	if err := store.Of(w.store.Read(context.Background(), w.org), w.org).Find(&list, conds...).Error; err != nil {
		w.failf("read %T: %v", list, err)
	}
	return list
}

// simRows is what the engine reads by itself, with the bugs that are planted there.
type simRows struct {
	database

	planted *planted
}

func (s simRows) openCalls(ctx context.Context, org models.OrgID, turn models.TurnID) ([]models.Effect, error) {
	list, err := s.database.openCalls(ctx, org, turn)
	for i := range list {
		if s.planted.forgottenStarts && list[i].State == models.EffectRunning {
			list[i].State = models.EffectClaimed
		}
	}
	return list, err
}

// simQueue is the queue as one process reaches it: other things happen before a statement, it may fail, and its reply may get lost.
type simQueue struct {
	*queue.Queue

	n *simNode
}

var _ Queue = simQueue{}

// reach is the way to the database; after it the answer may be lost.
func (q simQueue) reach() error {
	q.n.w.wait(nil)
	if q.n.w.chance(q.n.w.trouble.queue) {
		return errSim
	}
	return nil
}

// Claim implements Queue.
func (q simQueue) Claim(ctx context.Context, ask queue.Ask) (queue.Claimed, error) {
	none := queue.Claimed{Next: ask.From}
	if err := q.reach(); err != nil {
		return none, err
	}
	if err := q.n.w.lose(); err != nil {
		return none, err
	}
	got, err := q.Queue.Claim(ctx, ask)
	if err == nil && q.n.w.planted.heldClaims && len(got.Executions) == 0 {
		for _, t := range q.n.w.turns("runner_id <> ?", ask.Runner[:]) {
			got.Executions = append(got.Executions, queue.Taken{Held: queue.HeldTurn(&t), Row: &t})
		}
	}
	if err == nil && q.n.w.chance(q.n.w.trouble.queue) {
		q.n.w.notef("%s: the answer to a claim of %d turns is lost", q.n.name("claims"), len(got.Executions))
		return none, errSim
	}
	return got, err
}

// Marked implements Queue.
func (q simQueue) Marked(ctx context.Context, runner models.RunnerID) ([]models.Execution, error) {
	if err := q.reach(); err != nil {
		return nil, err
	}
	return q.Queue.Marked(ctx, runner)
}

// Cancelled implements Queue.
func (q simQueue) Cancelled(ctx context.Context, runner models.RunnerID, x models.Execution) (bool, error) {
	if err := q.reach(); err != nil {
		return false, err
	}
	return q.Queue.Cancelled(ctx, runner, x)
}

// Held implements Queue.
func (q simQueue) Held(ctx context.Context, runner models.RunnerID) ([]queue.Held, error) {
	if err := q.reach(); err != nil {
		return nil, err
	}
	return q.Queue.Held(ctx, runner)
}

// Release and the others that are tried again after a real pause are seldom cut off.
func (q simQueue) Release(ctx context.Context, h queue.Held) error {
	q.n.w.wait(nil)
	if err := q.n.w.lose(); err != nil {
		return err
	}
	return q.Queue.Release(ctx, h)
}

// Retry implements Queue.
func (q simQueue) Retry(ctx context.Context, h queue.Held) error {
	q.n.w.failf("%s could not be ended and goes back into the queue", h.Execution)
	return q.Queue.Retry(ctx, h)
}

// Beat implements Queue.
func (q simQueue) Beat(ctx context.Context, id models.RunnerID) (bool, error) {
	if err := q.reach(); err != nil {
		return false, err
	}
	return q.Queue.Beat(ctx, id)
}

// Runners implements Queue.
func (q simQueue) Runners(ctx context.Context) ([]models.Runner, error) {
	if err := q.reach(); err != nil {
		return nil, err
	}
	return q.Queue.Runners(ctx)
}

// TakeOver is two statements, and anything may happen between them.
func (q simQueue) TakeOver(ctx context.Context, dead models.RunnerID) (int64, error) {
	if err := q.reach(); err != nil {
		return 0, err
	}
	if err := q.n.w.exec("DELETE FROM runners WHERE id = ?", dead[:]); err != nil {
		return 0, err
	}
	if err := q.reach(); err != nil {
		return 0, err
	}
	if err := q.n.w.lose(); err != nil {
		return 0, err
	}
	held := q.n.w.turns("runner_id = ?", dead[:])
	n, err := q.Queue.TakeOver(ctx, dead)
	for _, t := range held {
		if q.n.w.planted.keptEpochs && err == nil {
			err = q.n.w.exec("UPDATE turns SET lease_epoch = ? WHERE id = ?", t.LeaseEpoch, t.ID[:])
		}
	}
	return n, err
}

// TakeOverOrphans implements Queue.
func (q simQueue) TakeOverOrphans(ctx context.Context) (int64, error) {
	if err := q.n.w.lose(); err != nil {
		return 0, err
	}
	return q.Queue.TakeOverOrphans(ctx)
}

// ReleaseAll implements Queue.
func (q simQueue) ReleaseAll(ctx context.Context) error {
	if err := q.n.w.lose(); err != nil {
		return err
	}
	return q.Queue.ReleaseAll(ctx)
}

// Remove implements Queue.
func (q simQueue) Remove(ctx context.Context, id models.RunnerID) error {
	if err := q.n.w.lose(); err != nil {
		return err
	}
	return q.Queue.Remove(ctx, id)
}

// Forgive does nothing: no database is away for so long, and it would ask the machine's clock.
func (simQueue) Forgive(time.Time) {}
