package queue

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// What the queue does for turns it does for any other kind that is declared. The tests run with turns alone, and with chores beside them,
// in a table that has nothing but what all executions have and a label.

const choresTable = `CREATE TABLE chores (org_id uuid NOT NULL, label text NOT NULL, kind text NOT NULL, id uuid NOT NULL, status text NOT NULL, queued_at bigint NOT NULL,
ready_at bigint, runner_id uuid, lease_epoch bigint NOT NULL, takeovers bigint NOT NULL, recoveries bigint NOT NULL, attention boolean NOT NULL, cancel json,
PRIMARY KEY (org_id, id))`

// chore is the row of a chore.
type chore struct {
	held  Held
	label string
}

func chores() Kind {
	return Kind{Name: "chore", Table: "chores", Columns: "label, kind, org_id, id, lease_epoch", Scan: func(r Row) (Held, any, error) {
		c, kind := &chore{}, ""
		c.held.Kind = "chore"
		err := r.Scan(&c.label, &kind, &c.held.OrgID, &c.held.ID, &c.held.Epoch)
		return c.held, c, err
	}}
}

// fixture is a database with some kinds of executions.
type fixture struct {
	*store.DB

	kinds []Kind
}

func withTurns(db *store.DB) fixture { return fixture{db, []Kind{Turns()}} }

// withChores makes the table of a second kind.
func withChores(t testing.TB, db *store.DB) fixture {
	t.Helper()
	statements := []string{
		choresTable, "CREATE INDEX chores_ready ON chores (org_id, ready_at) WHERE ready_at IS NOT NULL",
		"CREATE INDEX chores_held ON chores (runner_id, org_id) WHERE runner_id IS NOT NULL",
	}
	if db.Pool != nil {
		statements = append(statements, "GRANT ALL ON chores TO PUBLIC")
	}
	for _, s := range statements {
		if _, err := storetest.Exec(context.Background(), db, s); err != nil {
			t.Fatal(err)
		}
	}
	return fixture{db, []Kind{chores(), Turns()}}
}

// each runs a test on both databases, with one kind and with two.
func each(t *testing.T, test func(t *testing.T, on fixture)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		t.Parallel()
		test(t, withTurns(db))
	})
	t.Run("chores", func(t *testing.T) {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			t.Parallel()
			test(t, withChores(t, db))
		})
	})
}

// line is a queue with executions in it.
type line struct {
	*Queue

	t    testing.TB
	ctx  context.Context
	orgs []models.OrgID
	// executions are all of them, the oldest of each organization first. With two kinds each second one is a chore.
	executions []models.Execution
}

// newLine makes executions, each turn at the head of a session of its own, ready since 1, 2, 3 and so on; as many as there are numbers,
// that many in an organization of their own.
func newLine(t testing.TB, on fixture, numbers ...int) *line {
	t.Helper()
	l := &line{Queue: New(on.DB, on.kinds...), t: t, ctx: context.Background()}
	if on.Writer != nil { // These tests are not about power failures.
		if _, err := on.Writer.ExecContext(l.ctx, "PRAGMA synchronous = OFF"); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range numbers {
		l.org(n)
	}
	return l
}

func (l *line) org(n int) {
	l.t.Helper()
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o"}
	org.Slug = org.ID.String()
	h := models.Harness{OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", Capabilities: []models.CapabilityRef{}}
	l.orgs = append(l.orgs, org.ID)
	err := l.db.WriteAcross(l.ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&org).Error; err != nil {
			return err
		}
		if err := tx.Create(&h).Error; err != nil {
			return err
		}
		for i := range n {
			x := models.ExecutionOf(models.NewID[models.TurnEntity]())
			add := l.addTurn
			if i%len(l.kinds.list) == 1 {
				x.Kind, add = "chore", l.addChore
			}
			if err := add(tx, org.ID, h.ID, x.ID, models.Millis(i+1)); err != nil {
				return err
			}
			l.executions = append(l.executions, x)
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (*line) addTurn(tx *gorm.DB, org models.OrgID, harness models.HarnessID, id models.ExecutionID, at models.Millis) error {
	turn := models.Turn{
		OrgID: org, ID: models.TurnID(id), Status: models.TurnQueued, Phase: models.PhaseInput, InputMessageID: models.NewID[models.MessageEntity](),
		QueuedAt: at, ReadyAt: at.Ptr(),
	}
	s := models.Session{OrgID: org, ID: models.NewID[models.SessionEntity](), HarnessID: harness, Tags: []string{}, CurrentTurnID: &turn.ID}
	turn.SessionID = s.ID
	return errors.Join(tx.Create(&s).Error, tx.Create(&turn).Error)
}

func (*line) addChore(tx *gorm.DB, org models.OrgID, _ models.HarnessID, id models.ExecutionID, at models.Millis) error {
	return tx.Exec(`INSERT INTO chores (org_id, label, kind, id, status, queued_at, ready_at, lease_epoch, takeovers, recoveries, attention)
VALUES (?, 'sweep', 'x', ?, 'QUEUED', ?, ?, 0, 0, 0, FALSE)`, org, id, at, at).Error
}

func (l *line) runner() models.RunnerID {
	l.t.Helper()
	r := models.Runner{ID: models.NewID[models.RunnerEntity](), Host: "h"}
	if err := l.Register(l.ctx, r); err != nil {
		l.t.Fatal(err)
	}
	return r.ID
}

func (l *line) claim(r models.RunnerID, n int) []Taken {
	l.t.Helper()
	c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: n})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(c.Executions) > n {
		l.t.Fatalf("asked for %d executions, got %d", n, len(c.Executions))
	}
	return c.Executions
}

// execution is what the database has of one.
type execution struct {
	Held

	status                models.TurnStatus
	queued                models.Millis
	ready                 *models.Millis
	runner                *models.RunnerID
	takeovers, recoveries int
}

// readAll returns all executions.
func (l *line) readAll() (list []execution) {
	l.t.Helper()
	err := l.db.QueryAcross(l.ctx, func(r store.Row) error {
		var x execution
		var kind int
		err := r.Scan(&kind, &x.OrgID, &x.ID, &x.Epoch, &x.status, &x.queued, &x.ready, &x.runner, &x.takeovers, &x.recoveries)
		x.Kind = l.kinds.list[kind].Name
		list = append(list, x)
		return err
	}, l.kinds.each(" UNION ALL ", "", "SELECT #, org_id, id, lease_epoch, status, queued_at, ready_at, runner_id, takeovers, recoveries FROM @"))
	if err != nil {
		l.t.Fatal(err)
	}
	return list
}

func (l *line) read(id models.Execution) execution {
	l.t.Helper()
	all := l.readAll()
	i := slices.IndexFunc(all, func(x execution) bool { return x.Execution == id })
	if i < 0 {
		l.t.Fatalf("there is no %s", id)
	}
	return all[i]
}

// write runs a statement as the program does.
func (l *line) write(statement string, args ...any) {
	l.t.Helper()
	if err := l.db.WriteAcross(l.ctx, func(tx *gorm.DB) error { return tx.Exec(statement, args...).Error }); err != nil {
		l.t.Fatal(err)
	}
}

// update changes the executions of all kinds that meet a condition.
func (l *line) update(what string, args ...any) {
	l.t.Helper()
	for _, kind := range l.kinds.list {
		l.write("UPDATE "+kind.Table+" SET "+what, args...)
	}
}

// free checks that an execution is back in the queue.
func (l *line) free(what string, id models.Execution, ready models.Millis, epoch int64, takeovers, recoveries int) {
	l.t.Helper()
	x := l.read(id)
	if x.runner != nil || x.ready == nil || *x.ready != ready || x.Epoch != epoch || x.takeovers != takeovers || x.recoveries != recoveries {
		l.t.Errorf("%s: it is %+v", what, x)
	}
}

// A claim brings the rows of all kinds, the oldest first, each as its kind reads it.
func TestAClaimBringsTheRowsOfEachKind(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		for name, caps := range map[string]Caps{"without caps": {}, "with caps": {Usual: 10}} {
			l := newLine(t, on, 6)
			r := l.runner()
			c, err := l.Claim(l.ctx, Ask{Runner: r, Executions: 4, Caps: caps})
			if err != nil || len(c.Executions) != 4 {
				t.Fatalf("%s: %+v, %v", name, c, err)
			}
			for _, x := range c.Executions {
				if i := slices.Index(l.executions, x.Execution); i < 0 || i > 3 || x.Since != models.Millis(i+1) || x.Epoch != 1 || x.OrgID != l.orgs[0] {
					t.Errorf("%s: claimed is number %d: %+v", name, i, x)
				}
				switch row := x.Row.(type) {
				case *models.Turn:
					if HeldTurn(row) != x.Held || row.Status != models.TurnRunning || *row.RunnerID != r || row.ReadyAt != nil || row.QueuedAt != x.Since {
						t.Errorf("%s: the turn is %+v", name, row)
					}
				case *chore:
					if row.held != x.Held || row.label != "sweep" {
						t.Errorf("%s: the chore is %+v", name, row)
					}
				}
			}
			l.claim(r, 2)
			l.claim(r, MaxClaim)
		}
	})
}

// An execution of a kind that was not declared is nobody's.
func TestUnknownKindsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, on fixture) {
		l := newLine(t, on, 1)
		r := l.runner()
		h := l.claim(r, 1)[0].Held
		h.Kind = "errand"
		_, err := l.Cancelled(l.ctx, r, h.Execution)
		if released := l.Release(l.ctx, h); released == nil || err == nil {
			t.Errorf("released: %v, asked: %v", released, err)
		}
	})
}
