package books_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func (w *reconcileWorld) usage(org models.OrgID, since models.Millis) (list []string, hours int) {
	w.t.Helper()
	hours, err := w.Usage(w.t.Context(), org, since, func(d books.UsageDifference) error {
		list = append(list, d.String())
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list, hours
}

// Two calls of a turn and one of a tool, in two hours, and their sums.
func (w *reconcileWorld) used() (o testBooks, hour models.Millis) {
	w.t.Helper()
	o = w.org()
	hour = reconcileStart - reconcileStart%3_600_000
	turn := models.NewID[models.TurnEntity]()
	model, agent, user, customer := models.NewID[models.ModelEntity](), models.NewID[models.AgentEntity](), models.NewID[models.UserEntity](), "c"
	fact := func(kind models.JournalKind, at models.Millis, tool string, u models.Usage) *models.JournalEntry {
		return &models.JournalEntry{
			OrgID: o.org, ID: models.NewID[models.JournalEntity](), Kind: kind, OccurredAt: at, SessionID: &o.session.ID, TurnID: &turn,
			UserID: &user, AgentID: &agent, CustomerKey: &customer, ModelID: &model, Tool: tool, Usage: u,
		}
	}
	u := models.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, CostNanos: 6}
	free := models.Usage{InputTokens: 10, Unpriced: true}
	first := fact(models.JournalModelCall, hour, "", u)
	first.ID = hold.CallID(turn, 1)
	w.create(
		first, fact(models.JournalModelCall, hour+3_599_999, "", free),
		fact(models.JournalToolCall, hour+5, "t", models.Usage{}), fact(models.JournalModelCall, hour+3_600_000, "", u),
		fact(models.JournalTopUp, hour+5, "", models.Usage{}), // nothing was used
	)
	sums := func(h models.Millis, tool string, s models.UsageSums) {
		w.create(
			&models.UsageHour{OrgID: o.org, Hour: h, ModelID: model, AgentID: agent, UserID: user, CustomerKey: customer, Tool: tool, UsageSums: s},
			&models.SessionUsageHour{OrgID: o.org, Hour: h, SessionID: o.session.ID, ModelID: model, AgentID: agent, UserID: user, CustomerKey: customer, Tool: tool, UsageSums: s},
		)
	}
	one := models.UsageSums{
		InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, CostNanos: 6, ModelCalls: 1,
	}
	sums(hour+3_600_000, "", one) // the turn has begun in the hour before
	one.InputTokens, one.ModelCalls, one.UnpricedCalls, one.Turns = 11, 2, 1, 1
	sums(hour, "", one)
	sums(hour, "t", models.UsageSums{ToolCalls: 1})
	return o, hour
}

func TestSumsOfUsageAreHeldAgainstTheJournal(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o, hour := w.used()
		other, _ := w.used()
		w.advance(2 * time.Hour)
		if got, hours := w.usage(o.org, hour+7); len(got) > 0 || hours != 2 {
			t.Fatalf("got %v in %d hours", got, hours)
		}
		if got, hours := w.usage(o.org, hour+3_600_000); len(got) > 0 || hours != 1 {
			t.Errorf("of the second hour: got %v in %d hours", got, hours)
		}
		row := " WHERE org_id = ? AND hour = ? AND tool = 't'"
		for _, table := range []string{"usage_hours", "session_usage_hours"} {
			for _, column := range []string{
				"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_nanos", "unpriced_calls",
				"model_calls", "tool_calls", "turns",
			} {
				add := func(n int) {
					w.write(func(tx *gorm.DB) error {
						return store.OneRow(tx.Exec(fmt.Sprintf("UPDATE %s SET %s = %s + (%d)%s", table, column, column, n, row), o.org, int64(hour)))
					})
				}
				add(1)
				got, _ := w.usage(o.org, hour)
				if len(got) != 1 || !strings.HasPrefix(got[0], table+" ") || !strings.Contains(got[0], ": "+column+": ") {
					t.Errorf("%s of %s: got %v", column, table, got)
				}
				add(-1)
			}
		}
		for _, table := range []string{"usage_hours", "session_usage_hours"} {
			w.write(func(tx *gorm.DB) error { return store.OneRow(tx.Exec("DELETE FROM "+table+row, o.org, int64(hour))) })
		}
		at := hour.Time().UTC().Format(" 2006-01-02T15Z ")
		got, _ := w.usage(o.org, hour)
		if len(got) != 2 || !strings.HasPrefix(got[0], "usage_hours"+at) || !strings.HasPrefix(got[1], "session_usage_hours"+at) {
			t.Errorf("rows that are missing: got %v", got)
		}
		if got, _ := w.usage(other.org, hour); len(got) > 0 {
			t.Errorf("the other organization: got %v", got)
		}
	})
}
