package commit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// budget makes a budget of an organization, and returns its id.
func (w *world) budget(org models.OrgID) models.BudgetID {
	w.t.Helper()
	id := models.NewID[models.BudgetEntity]()
	w.exec("INSERT INTO budgets (org_id, id, subject, subject_id, currency, limit_amount, created_at, period_started_at, updated_at) "+
		"VALUES (?, ?, 'ORG', ?, 'usd', 1000, 1, 1, 1)", org, id, org)
	return id
}

var errRefuses = errors.New("the command refuses")

// one reads a row from outside.
func (w *world) one(into any, statement string, args ...any) {
	w.t.Helper()
	if err := store.CrossOrg(w.db.ReadAcross(w.t.Context())).Raw(statement, args...).Scan(into).Error; err != nil {
		w.t.Fatal(err)
	}
}

// What a command does to a budget is seen by those behind it in the batch, whatever their session; a refused one leaves no trace, and all
// is written once.
func TestBudgetsAreSharedWithinABatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.budget(w.org)
		spend := func(amount models.Amount, fails error) Command {
			s, _ := w.working()
			fact := models.NewID[models.JournalEntity]()
			return w.command(s, func(tx *Tx) error {
				list, known := tx.Budgets()
				if !known {
					return ErrMore
				}
				b := list[0]
				b.Spent += amount
				tx.SaveBudget(b)
				if b, _ := tx.Budget(id); b.Spent < amount {
					t.Errorf("what the command has spent is not seen by itself: %d", b.Spent)
				}
				tx.Meter(models.JournalEntry{ID: fact, Kind: models.JournalModelCall, Usage: models.Usage{InputTokens: int64(amount)}}, true)
				tx.Post(models.LedgerEntry{BudgetID: id, JournalID: fact, Source: models.JournalModelCall, Amount: amount})
				return fails
			})
		}
		errs := batch(w.c, spend(1, nil), spend(10, errRefuses), spend(100, nil))
		if errs[0] != nil || !errors.Is(errs[1], errRefuses) || errs[2] != nil {
			t.Errorf("got %v", errs)
		}
		var b models.Budget
		w.one(&b, "SELECT * FROM budgets WHERE org_id = ? AND id = ?", w.org, id)
		if b.Spent != 101 {
			t.Errorf("%d was spent", b.Spent)
		}
		var sums models.UsageHour
		w.one(&sums, "SELECT sum(input_tokens) AS input_tokens, sum(turns) AS turns, sum(model_calls) AS model_calls FROM usage_hours WHERE org_id = ?", w.org)
		if sums.InputTokens != 101 || sums.Turns != 2 || sums.ModelCalls != 2 {
			t.Errorf("the sums are %+v", sums)
		}
	})
}

// Each session of a batch is given what binds it and what its turn holds, and nothing of what binds the others, of its organization or another.
func TestTheBudgetsOfABatchAreThoseOfItsSessions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		theirs := newWorld(t, w.db)
		type bound struct {
			at      *world
			session models.SessionID
			own     []models.BudgetID
			held    models.BudgetID
		}
		var list []bound
		var cmds []Command
		for _, at := range []*world{w, theirs, w} {
			s, lease := at.working()
			customer := "\"customer\" of " + s.String()
			at.exec("UPDATE sessions SET customer_key = ? WHERE org_id = ? AND id = ?", customer, at.org, s)
			held := at.putBudget(func(b *models.Budget) { b.DisabledAt, b.Reserved = models.Millis(2).Ptr(), 7 })
			hold := at.command(s, func(tx *Tx) error {
				tx.Turn.Reservation = &models.Reservation{Lines: []models.Held{{Budget: held.ID, Amount: 7}}}
				return nil
			})
			hold.needs.Lease = lease
			at.do(hold)
			subject := models.SubjectID(s)
			own := at.putBudget(func(b *models.Budget) { b.Subject, b.SubjectID = models.SubjectSession, &subject })
			his := at.putBudget(func(b *models.Budget) { b.Subject, b.SubjectID, b.CustomerKey = models.SubjectCustomer, nil, &customer })
			list = append(list, bound{at, s, []models.BudgetID{own.ID, his.ID}, held.ID})
		}
		for i := range list {
			if i < 2 {
				org := list[i].at.putBudget(func(*models.Budget) {})
				for j := range list {
					if list[j].at == list[i].at {
						list[j].own = append(list[j].own, org.ID)
					}
				}
			}
		}
		for _, one := range list {
			c := one.at.command(one.session, func(tx *Tx) error {
				got, known := tx.Budgets()
				var ids []models.BudgetID
				for _, b := range got {
					ids = append(ids, b.ID)
				}
				if !known || !slices.Equal(ids, one.own) {
					t.Errorf("the session is bound by %v, %v; want %v", ids, known, one.own)
				}
				if b, ok := tx.Budget(one.held); !ok || b.Reserved != 7 {
					t.Errorf("what the turn holds is %+v, %v", b, ok)
				}
				return nil
			})
			c.needs.Budgets = true
			cmds = append(cmds, c)
		}
		must(t, batch(w.c, cmds...))
	})
}

// However many there are, the budgets of a batch are found by their keys.
func TestSQLiteFindsBudgetsByTheirKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if w.db.Dialect != store.SQLite {
			return // TestPlansFindRowsByTheirKeys
		}
		plan, err := w.db.Writer.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+sqliteBudgets, `[["00","00"]]`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = plan.Close() }()
		steps := 0
		for plan.Next() {
			var id, parent, unused int
			var step string
			if err := plan.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			steps++
			table, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(step, "SCAN "), "SEARCH "), " ")
			if slices.Contains([]string{"b", "p", "o"}, table) && (!strings.HasPrefix(step, "SEARCH ") || table != "o" && !strings.Contains(step, " AND ")) {
				t.Errorf("the plan has %q", step)
			}
		}
		if err := plan.Err(); err != nil || steps < 8 {
			t.Errorf("the plan has %d steps: %v", steps, err)
		}
	})
}

// The budgets of a session that gets another agent are those of the new one for all commands behind the change, also for those of the same batch.
func TestBudgetsFollowTheAgent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		agent := models.NewID[models.AgentEntity]()
		must(t, []error{w.db.Write(t.Context(), w.org, func(tx *gorm.DB) error {
			return tx.Create(&models.Agent{
				OrgID: w.org, ID: agent, HarnessID: &w.harness, Name: "a", Capabilities: []models.CapabilityRef{}, Tags: []string{}, Lifecycle: models.LifecycleActive,
			}).Error
		})})
		of := w.putBudget(func(b *models.Budget) {
			b.Subject, b.SubjectID = models.SubjectAgent, (*models.SubjectID)(&agent)
		})
		s, _ := w.working()
		change := w.command(s, func(tx *Tx) error {
			tx.Session.AgentID = &agent
			tx.SaveDetails()
			return nil
		})
		var bind []models.Budget
		look := w.command(s, func(tx *Tx) error {
			var known bool
			if bind, known = tx.Budgets(); !known {
				return ErrMore
			}
			return nil
		})
		look.needs.Budgets = true
		must(t, batch(w.c, change, look))
		if len(bind) != 1 || bind[0].ID != of.ID {
			t.Errorf("the budgets that bind the session are %+v, want that of the agent", bind)
		}
	})
}
