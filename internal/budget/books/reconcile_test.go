package books_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// scene is an organization whose books are right.
type scene struct {
	testBooks

	// dollars lasts, tokens rolls, and calls is of a day that is over.
	dollars, tokens, calls *models.Budget
	// call is a posting of the dollars.
	call *models.LedgerEntry
}

func (w *reconcileWorld) scene() scene {
	w.t.Helper()
	o := w.org()
	s := scene{testBooks: o}
	s.dollars = o.budget(models.CurrencyUSD, nil)
	s.tokens = o.budget(models.CurrencyTokens, rolling(3600))
	kind, unit := models.PeriodCalendar, models.UnitDay
	s.calls = o.budget(models.CurrencyToolCalls, func(b *models.Budget) {
		b.PeriodKind, b.PeriodUnit, b.Spent, b.CreatedAt, b.PeriodStartedAt = &kind, &unit, 1, 1, reconcileStart-aDay
		_, b.PeriodEndsAt = budget.PeriodAt(b, b.PeriodStartedAt)
	})
	rows := []any{}
	var facts []*models.JournalEntry
	for i := range 3 {
		at := reconcileStart + models.Millis(i)*600_000
		u := models.Usage{InputTokens: 10, OutputTokens: 1, CostNanos: 70}
		j, l := o.call(s.dollars, at, u, 70)
		l.Overrun = 1
		s.call = l
		facts = append(facts, j)
		budget.Debit(s.dollars, 70, at)
		budget.Roll(s.tokens, at)
		budget.Debit(s.tokens, 11, at)
		rows = append(rows, l, posting(s.tokens, j, 11))
	}
	top, credit := o.topUp(s.dollars, reconcileStart+5, 500)
	budget.Credit(s.dollars, 500, reconcileStart+5)
	tool := &models.JournalEntry{OrgID: o.org, ID: models.NewID[models.JournalEntity](), Kind: models.JournalToolCall, OccurredAt: reconcileStart, Tool: "t"}
	facts = append(facts, top, tool)
	rows = append(rows, credit, posting(s.calls, tool, 1))
	// An earlier period doesn't count.
	early := posting(s.calls, facts[0], 0)
	early.PeriodStartedAt, early.Amount, early.Source = early.PeriodStartedAt-86_400_000, 0, models.JournalModelCall
	rows = append(rows, early)

	one := o.turn(budget.Hold(s.dollars, 30), budget.Hold(s.tokens, 4))
	// What is held of an earlier period doesn't count either.
	two := o.turn(budget.Hold(s.dollars, 12), models.Held{Budget: s.calls.ID, Amount: 9, Period: s.calls.PeriodStartedAt - 86_400_000})
	w.create(s.dollars, s.tokens, s.calls)
	for _, j := range facts {
		w.create(j)
	}
	w.create(append(rows, one, two, o.turn())...)
	return s
}

func TestRightBooksHaveNoDifferences(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		s := w.scene()
		w.right(s.org)
		// The window rolls on without anybody writing the row.
		for range 70 {
			w.advance(time.Minute)
			w.right(s.org)
		}
		if got := w.differences(models.NewID[models.OrgEntity]()); len(got) > 0 {
			t.Errorf("an organization that doesn't exist: %v", got)
		}
	})
}

// slots tells of the window of a scene, of whose first slot something is different.
func slots(s scene, spent models.Amount, newest models.Millis) string {
	list := slices.Clone(s.tokens.Slots)
	list[0].Spent, list[0].Newest = spent, list[0].Newest+newest
	var texts []string
	for _, k := range list {
		texts = append(texts, fmt.Sprintf("%d: %d at %s", k.Slot, k.Spent, k.Newest.Time().UTC().Format("2006-01-02T15:04:05.000Z")))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Each kind of mistake is named, with what is stored and what it should be; what can be mended is mended, and nobody else is touched.
func TestMistakesAreFoundAndMended(t *testing.T) {
	t.Parallel()
	changed := func(s scene, change func(k *models.BudgetSlot)) models.BudgetSlot {
		k := s.tokens.Slots[0]
		change(&k)
		return k
	}
	for name, c := range map[string]struct {
		spoil func(w *reconcileWorld, s scene)
		which func(s scene) *models.Budget
		want  func(s scene) string
		stays bool
	}{
		"spent": {
			spoil: func(w *reconcileWorld, s scene) { w.set(s.dollars, "spent", 209) },
			want:  func(scene) string { return "spent: stored 0.000000209, computed 0.00000021" },
		},
		"credits": {
			spoil: func(w *reconcileWorld, s scene) { w.set(s.dollars, "credits", 0) },
			want:  func(scene) string { return "credits: stored 0, computed 0.0000005" },
		},
		"reserved": {
			spoil: func(w *reconcileWorld, s scene) { w.set(s.tokens, "reserved", 5) },
			which: func(s scene) *models.Budget { return s.tokens },
			want:  func(scene) string { return "reserved: stored 5, computed 4" },
		},
		"a hold that the row doesn't know": {
			spoil: func(w *reconcileWorld, s scene) {
				w.create(s.turn(models.Held{Budget: s.calls.ID, Amount: 2, Period: s.calls.PeriodStartedAt}))
			},
			which: func(s scene) *models.Budget { return s.calls },
			want:  func(scene) string { return "reserved: stored 0, computed 2" },
		},
		"a missing posting": {
			spoil: func(w *reconcileWorld, s scene) {
				w.unguarded("DELETE FROM ledger_entries WHERE id = ?", [16]byte(s.call.ID))
			},
			want: func(scene) string { return "spent: stored 0.00000021, computed 0.00000014" },
		},
		"an amount that isn't that of the fact": {
			spoil: func(w *reconcileWorld, s scene) {
				w.unguarded("UPDATE ledger_entries SET amount = 71 WHERE id = ?", [16]byte(s.call.ID))
				w.set(s.dollars, "spent", 211)
			},
			want: func(s scene) string {
				return fmt.Sprintf("amount of %s: stored 0.000000071, computed 0.00000007", s.call.ID)
			},
			stays: true,
		},
		"an overrun above the amount": {
			spoil: func(w *reconcileWorld, s scene) {
				w.unguarded("UPDATE ledger_entries SET overrun = 71 WHERE id = ?", [16]byte(s.call.ID))
			},
			want: func(s scene) string {
				return fmt.Sprintf("overrun of %s: stored 0.000000071, computed 0.00000007", s.call.ID)
			},
			stays: true,
		},
		"a posting without a fact": {
			spoil: func(w *reconcileWorld, s scene) {
				w.unguarded("UPDATE ledger_entries SET journal_id = ? WHERE id = ?", [16]byte{15: 9}, [16]byte(s.call.ID))
			},
			want: func(s scene) string {
				return fmt.Sprintf("journal_id of %s: stored %s, computed no such usage record", s.call.ID, models.JournalID{15: 9})
			},
			stays: true,
		},
		"a posting that may be there twice": {
			spoil: func(w *reconcileWorld, s scene) {
				w.unguarded("UPDATE ledger_entries SET id = ? WHERE id = ?", [16]byte{15: 9}, [16]byte(s.call.ID))
			},
			want: func(s scene) string {
				return fmt.Sprintf("id of %[1]s: stored %[1]s, computed %[2]s", models.LedgerID{15: 9}, s.call.ID)
			},
			stays: true,
		},
		"a source that isn't that of the fact": {
			spoil: func(w *reconcileWorld, s scene) {
				w.unguarded("UPDATE ledger_entries SET source = 'PAYMENT' WHERE id = ?", [16]byte(s.call.ID))
			},
			want: func(s scene) string {
				return fmt.Sprintf("source of %s: stored PAYMENT, computed MODEL_CALL", s.call.ID)
			},
			stays: true,
		},
		"a slot": {
			spoil: func(w *reconcileWorld, s scene) { w.setSlot(changed(s, func(k *models.BudgetSlot) { k.Spent-- })) },
			which: func(s scene) *models.Budget { return s.tokens },
			want:  func(s scene) string { return "slots: stored " + slots(s, 10, 0) + ", computed " + slots(s, 11, 0) },
		},
		"the newest time of a slot": {
			spoil: func(w *reconcileWorld, s scene) { w.setSlot(changed(s, func(k *models.BudgetSlot) { k.Newest-- })) },
			which: func(s scene) *models.Budget { return s.tokens },
			want:  func(s scene) string { return "slots: stored " + slots(s, 11, -1) + ", computed " + slots(s, 11, 0) },
		},
		"the sum of a window": {
			spoil: func(w *reconcileWorld, s scene) { w.set(s.tokens, "spent", 32) },
			which: func(s scene) *models.Budget { return s.tokens },
			want:  func(scene) string { return "spent: stored 32, computed 33" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				w := newReconcileWorld(t, db)
				s, other := w.scene(), w.scene()
				w.advance(21 * time.Minute)
				c.spoil(w, s)
				of := s.dollars
				if c.which != nil {
					of = c.which(s)
				}
				want := fmt.Sprint([]string{of.ID.String() + " " + c.want(s)})
				if got := w.differences(s.org); fmt.Sprint(got) != want {
					t.Fatalf("got  %v\nwant %v", got, want)
				}
				w.right(other.org)
				others := w.rows(other.org)
				if _, err := w.Repair(t.Context(), other.org, of.ID); err == nil {
					t.Error("a budget was repaired for another organization")
				}
				done, err := w.Repair(t.Context(), s.org, of.ID)
				if err != nil {
					t.Fatal(err)
				}
				if done.Repaired == c.stays || (done.Left() == 1) != c.stays {
					t.Errorf("got %+v with %d left", done, done.Left())
				}
				recorded := w.recorded(s.org)
				if c.stays {
					if got := w.differences(s.org); fmt.Sprint(got) != want || len(recorded) != 0 {
						t.Errorf("after the repair: got %v and %v", got, recorded)
					}
				} else {
					w.right(s.org)
					if len(recorded) != 1 || recorded[0].Action != "budget.reconciled" || recorded[0].TargetID != of.ID.String() ||
						!strings.Contains(recorded[0].Details, `"before"`) || !strings.Contains(recorded[0].Details, `"after"`) {
						t.Errorf("recorded %+v", recorded)
					}
				}
				// Once more there is nothing to do.
				if done, err := w.Repair(t.Context(), s.org, of.ID); err != nil || done.Repaired {
					t.Errorf("again: got %+v, %v", done, err)
				}
				if got := w.rows(other.org); got != others || len(w.recorded(other.org)) > 0 {
					t.Errorf("the other organization: got %s, want %s", got, others)
				}
			})
		})
	}
}

func (w *reconcileWorld) rows(org models.OrgID) string {
	w.t.Helper()
	var list []models.Budget
	if err := store.Of(w.db.Read(w.t.Context(), org), org).Order("id").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	text := ""
	for _, b := range list {
		text += fmt.Sprint(b.ID, b.Spent, b.Credits, b.Reserved, b.UpdatedAt, "\n")
	}
	return text
}

func (w *reconcileWorld) recorded(org models.OrgID) []models.AuditEntry {
	w.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(w.db.Read(w.t.Context(), org), org).Order("position").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

// A repair that gives room takes back what the row was stopped by.
func TestARepairReopens(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o := w.org()
		b := o.budget(models.CurrencyTokens, func(b *models.Budget) {
			b.Spent, b.ExhaustedAt, b.WarnedAt = b.LimitAmount, reconcileStart.Ptr(), reconcileStart.Ptr()
		})
		w.create(b)
		if _, err := w.Repair(t.Context(), o.org, b.ID); err != nil {
			t.Fatal(err)
		}
		var got models.Budget
		if err := store.Of(db.Read(t.Context(), o.org), o.org).Take(&got).Error; err != nil {
			t.Fatal(err)
		}
		if got.Spent != 0 || got.ExhaustedAt != nil || got.WarnedAt != nil || budget.StatusOf(&got) != budget.StatusActive {
			t.Errorf("got %+v", got)
		}
	})
}

// More than fit into one page, of budgets, postings and turns.
func TestManyAreReadInPages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o := w.org()
		var budgets []*models.Budget
		for range 51 {
			budgets = append(budgets, o.budget(models.CurrencyTokens, nil))
		}
		last := budgets[50]
		var facts []*models.JournalEntry
		var entries []*models.LedgerEntry
		var turns []*models.Turn
		for i := range 501 {
			j, l := o.call(last, reconcileStart+models.Millis(i/100), models.Usage{OutputTokens: 2}, 2)
			facts, entries, turns = append(facts, j), append(entries, l), append(turns, o.turn(budget.Hold(last, 1)))
		}
		last.Spent = 1002
		w.write(func(tx *gorm.DB) error {
			for _, rows := range []any{budgets, facts, entries, turns} {
				if err := tx.CreateInBatches(rows, 50).Error; err != nil {
					return err
				}
			}
			return nil
		})
		w.right(o.org)
		w.set(last, "spent", 1001)
		if got := w.differences(o.org); len(got) != 1 || !strings.HasSuffix(got[0], "spent: stored 1001, computed 1002") {
			t.Errorf("got %v", got)
		}
	})
}

// A line that names a period which has not begun is reported. It doesn't move the budget there: nothing of it is repaired.
func TestAPeriodIsNotRepairedByWhatNamesIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newReconcileWorld(t, db)
		o := w.org()
		b := o.budget(models.CurrencyUSD, func(b *models.Budget) {
			b.PeriodKind, b.PeriodUnit, b.Timezone = new(models.PeriodCalendar), new(models.UnitMonth), new("UTC")
			budget.Begin(b, reconcileStart)
			b.CreatedAt = b.PeriodStartedAt
		})
		b.Spent = 500
		j, p := o.call(b, w.now(), models.Usage{CostNanos: 500}, 500)
		turn := o.turn(models.Held{Budget: b.ID, Period: reconcileStart + models.Millis((50 * 365 * 24 * time.Hour).Milliseconds())})
		w.create(b, j, p, turn)
		if got := w.differences(o.org); len(got) != 1 || !strings.Contains(got[0], "period_started_at") {
			t.Errorf("found are %v, want the period", got)
		}
		c, err := w.Repair(t.Context(), o.org, b.ID)
		if err != nil || c.Repaired || c.Left() != 1 {
			t.Errorf("the repair: %+v, %v", c, err)
		}
		row, err := store.First[models.Budget](store.Of(db.Read(t.Context(), o.org), o.org).Where("id = ?", b.ID))
		if err != nil || row.Spent != 500 || row.PeriodStartedAt != b.PeriodStartedAt {
			t.Errorf("the row is %+v, %v", row, err)
		}
	})
}
