package sessions

import (
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// wantFound compares what a filter finds, read in pages of one and counted.
func (e *env) wantFound(f Filter, want ...models.SessionID) {
	e.t.Helper()
	var got []models.SessionID
	for {
		var after *Place
		if len(got) > 0 {
			after = &Place{ID: got[len(got)-1]}
		}
		page, err := e.svc.List(e.t.Context(), e.by.OrgID, f, Sorting{}, after, 1)
		if err != nil {
			e.t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page[0].ID)
	}
	n, err := e.svc.Count(e.t.Context(), e.by.OrgID, f)
	if !slices.Equal(got, want) || n != len(want) || err != nil {
		e.t.Errorf("found %v, counted %d, %v; want %v", got, n, err, want)
	}
}

func TestSearchFindsSessionsByTitleCustomerAndID(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		created := func(title, customer *string) models.SessionID {
			s, err := e.svc.Create(t.Context(), e.by, NewSession{Title: title, CustomerKey: customer})
			if err != nil {
				t.Fatal(err)
			}
			return s.ID
		}
		refund := created(ptr("Refund for order #1000"), ptr("cust-42"))
		order := created(ptr("Órder status, refund denied"), ptr("cust-43"))
		bare := created(nil, ptr("CUST-42/eu"))
		untitled := created(nil, nil)
		if _, err := e.svc.Create(t.Context(), e.theirs, NewSession{Title: ptr("Refund")}); err != nil {
			t.Fatal(err)
		}
		search := func(text string, want ...models.SessionID) {
			t.Helper()
			e.wantFound(Filter{Search: &text}, want...)
		}
		search("refund", order, refund)
		search("REF ord", refund)
		search("#1000", refund)
		search("efund")
		search("óRD", order)
		search("cust-42", bare, refund)
		search("42 eu", bare)
		search(" "+untitled.String()+" ", untitled)
		search(models.NewID[models.SessionEntity]().String())
		search("50%_")
		search(" – ", untitled, bare, order, refund)
		e.wantFound(Filter{Search: ptr("refund"), CustomerKey: ptr("cust-43")}, order)

		if _, err := e.svc.Update(t.Context(), e.by, refund, Change{Title: catalog.Opt[*string]{Given: true, Value: ptr("Exchange")}}); err != nil {
			t.Fatal(err)
		}
		search("refund", order)
		search("exch cust", refund)
		e.wholeTurn(order, "x")
		search("exchange", refund)
		search("exchange", append([]models.SessionID{}, e.fork(refund).ID, refund)...)

		for _, bad := range []string{"a\x00b", "\xff", strings.Repeat("x", 201)} {
			_, err := e.svc.List(t.Context(), e.by.OrgID, Filter{Search: &bad}, Sorting{}, nil, 1)
			wantFault(t, err, fault.Invalid, "filter.search")
		}
	})
}

// endTurn begins the turn at the head of the line and ends it with a status.
type endTurn struct {
	org     models.OrgID
	session models.SessionID
	status  models.TurnStatus
}

func (c *endTurn) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Ends: true, Bytes: 1000}
}

func (c *endTurn) Apply(tx *commit.Tx) error {
	tx.ClaimTurn(models.NewID[models.RunnerEntity]())
	tx.Turn.StartedAt = tx.Now.Ptr()
	tx.ConsumeInbox()
	switch c.status {
	case models.TurnFailed:
		return tx.EndTurn(c.status, models.StopError, events.TurnFailed{StopReason: models.StopError})
	case models.TurnSealed:
		return tx.EndTurn(c.status, models.StopBudget, events.TurnSealed{StopReason: models.StopBudget})
	default:
		return tx.EndTurn(models.TurnCompleted, models.StopEndTurn, events.TurnCompleted{StopReason: models.StopEndTurn})
	}
}

func TestFailedSessionsAreThoseWhoseLatestTurnWentWrong(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ended := func(session models.SessionID, statuses ...models.TurnStatus) models.SessionID {
			for _, status := range statuses {
				e.say(session, "x")
				if err := e.commit.Submit(t.Context(), &endTurn{org: e.by.OrgID, session: session, status: status}); err != nil {
					t.Fatal(err)
				}
			}
			return session
		}
		fresh := e.create().ID
		failed := ended(e.create().ID, models.TurnCompleted, models.TurnFailed)
		sealed := ended(e.create().ID, models.TurnFailed, models.TurnSealed)
		recovered := ended(e.create().ID, models.TurnFailed, models.TurnCompleted)
		// A turn that is cancelled before it began says nothing of the one that failed.
		waiting := ended(e.create().ID, models.TurnFailed)
		e.say(waiting, "first")
		if _, err := e.svc.CancelTurn(t.Context(), e.by, e.say(waiting, "second"), nil); err != nil {
			t.Fatal(err)
		}
		e.wantFound(Filter{Failed: ptr(true)}, waiting, sealed, failed)
		e.wantFound(Filter{Failed: ptr(false)}, recovered, fresh)
		e.wantFound(Filter{Failed: ptr(true), Status: []models.SessionStatus{models.SessionStarted}})
		if list, err := e.svc.List(t.Context(), e.theirs.OrgID, Filter{Failed: ptr(true)}, Sorting{}, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("others see %v, %v", list, err)
		}
	})
}

func TestSearchesUseIndexes(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		if e.db.Dialect != store.SQLite {
			return // tables are too small for PostgreSQL's planner to want an index
		}
		for name, f := range map[string]Filter{
			"search": {Search: ptr("refund order")}, "failed": {Failed: ptr(true)}, "rated down": {RatedDown: ptr(true)}, "both, with a tag": {Search: ptr("refund"), Failed: ptr(true), Tag: ptr("a")},
		} {
			for _, step := range e.planOf(f, Sorting{}) {
				// What a word of messages finds is a list of bounded length by then.
				if strings.HasPrefix(step, "SCAN") && step != "SCAN said" || step == "USE TEMP B-TREE FOR ORDER BY" {
					t.Errorf("%s: the plan is %v", name, e.planOf(f, Sorting{}))
				}
			}
		}
	})
}

// planOf returns how SQLite reads a page of sessions.
func (e *env) planOf(f Filter, by Sorting) []string {
	e.t.Helper()
	q, err := e.svc.sorted(e.t.Context(), e.by.OrgID, f, by, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.explain(q.Session(&gorm.Session{DryRun: true}).Limit(20).Find(&[]Listed{}).Statement)
}

// explain returns how SQLite runs a statement.
func (e *env) explain(st *gorm.Statement) []string {
	e.t.Helper()
	var plan []struct{ Detail string }
	err := e.db.Write(e.t.Context(), e.by.OrgID, func(tx *gorm.DB) error {
		return tx.Raw("EXPLAIN QUERY PLAN "+st.SQL.String(), st.Vars...).Scan(&plan).Error
	})
	if err != nil || len(plan) == 0 {
		e.t.Fatalf("the plan is %v, %v", plan, err)
	}
	var steps []string
	for _, p := range plan {
		steps = append(steps, p.Detail)
	}
	return steps
}
