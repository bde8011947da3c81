package books

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// reconcileSlack is how much earlier than its period a posting may be dated: nodes tell the time a little differently.
	reconcileSlack = models.Millis(10 * time.Minute / time.Millisecond)
	// reconcileSkew is how far apart two nodes may tell the time.
	reconcileSkew = models.Millis(2 * time.Second / time.Millisecond)
)

// books are what the postings of a budget's present period come to.
type books struct {
	// row has the sums, as package budget makes them.
	row models.Budget
	// latest is the latest period that something is posted in.
	latest models.Millis
}

// summed are the sums of postings that are so old that no more come, by budget.
type summed map[BudgetKey]summedUp

type summedUp struct {
	// period is the one that was summed up, and until the time before which.
	period, until  models.Millis
	spent, credits models.Amount
	postings       int64
	overrun        models.Amount
}

// mostSummed bounds the memory that sums take. Without them more is read.
const mostSummed = 100_000

// readBooks reads the postings of a budget's period in pages, holds each against its fact, and puts them together by the rules of
// package budget. With known it only reads what is not known, and makes more known.
func readBooks(tx *gorm.DB, stored *models.Budget, now models.Millis, known summed, c *Checked) (*books, error) {
	b := &books{row: *stored}
	b.row.Spent, b.row.Credits = 0, 0
	rolling := budget.Rolls(stored)
	if rolling {
		b.row.Slots = []models.BudgetSlot{}
	}
	from := stored.PeriodStartedAt - reconcileSlack
	old := summedUp{period: stored.PeriodStartedAt, until: now - reconcileSlack}
	if rolling {
		old.until = min(old.until, b.left(now))
	}
	key := BudgetKey{stored.OrgID, stored.ID}
	if k, ok := known[key]; ok && k.period == stored.PeriodStartedAt && k.until <= old.until {
		from, old.spent, old.credits, old.postings, old.overrun = k.until, k.spent, k.credits, k.postings, k.overrun
		b.row.Spent, b.row.Credits, c.Postings, c.Overrun = k.spent, k.credits, k.postings, k.overrun
	}
	var after *models.LedgerEntry
	for {
		q := store.Of(tx, stored.OrgID).Where("budget_id = ?", stored.ID)
		if after == nil {
			q = q.Where("created_at >= ?", from)
		} else {
			q = q.Where("(created_at, id) > (?, ?)", after.CreatedAt, after.ID)
		}
		var page []models.LedgerEntry
		if err := q.Order("created_at, id").Limit(reconcileRows).Find(&page).Error; err != nil {
			return nil, fmt.Errorf("read the ledger of %s: %w", stored.ID, err)
		}
		more := len(page) == reconcileRows
		if more {
			last := page[len(page)-1]
			after = &last
		}
		for i := range page {
			b.latest = max(b.latest, page[i].PeriodStartedAt)
		}
		page = slices.DeleteFunc(page, func(e models.LedgerEntry) bool { return e.PeriodStartedAt != stored.PeriodStartedAt })
		if err := holdAgainstFacts(tx, stored, page, c); err != nil {
			return nil, err
		}
		for i := range page {
			b.post(&page[i], now, c)
			if page[i].CreatedAt < old.until {
				old.spent, old.credits, old.postings, old.overrun = b.row.Spent, b.row.Credits, c.Postings, c.Overrun
			}
		}
		if !more {
			break
		}
	}
	if known != nil && c.Count() == 0 && (known[key].until > 0 || len(known) < mostSummed) {
		known[key] = old
	}
	if rolling {
		budget.Roll(&b.row, now)
	}
	return b, nil
}

// left is before when a posting has left a window for certain, with its slot.
func (b *books) left(now models.Millis) models.Millis {
	return now - budget.PeriodLength(&b.row) - 3*budget.SlotLength(&b.row) - reconcileSkew
}

func (b *books) post(e *models.LedgerEntry, now models.Millis, c *Checked) {
	c.Postings++
	c.Overrun += e.Overrun
	switch {
	case e.Amount < 0:
		budget.Credit(&b.row, -e.Amount, e.CreatedAt)
	case !budget.Rolls(&b.row) || e.CreatedAt >= b.left(now):
		budget.Debit(&b.row, e.Amount, e.CreatedAt)
	}
}

// holdAgainstFacts compares postings with the facts that they are of.
func holdAgainstFacts(tx *gorm.DB, b *models.Budget, page []models.LedgerEntry, c *Checked) error {
	if len(page) == 0 {
		return nil
	}
	ids := make([]models.JournalID, len(page))
	for i := range page {
		ids[i] = page[i].JournalID
	}
	var facts []models.JournalEntry
	if err := store.Of(tx, b.OrgID).Where("id IN ?", ids).Find(&facts).Error; err != nil {
		return fmt.Errorf("read the usage records of postings: %w", err)
	}
	byID := make(map[models.JournalID]*models.JournalEntry, len(facts))
	for i := range facts {
		byID[facts[i].ID] = &facts[i]
	}
	for i := range page {
		e := &page[i]
		if e.Overrun < 0 || e.Overrun > max(e.Amount, 0) {
			c.differs(e.ID, "overrun", b.Currency, e.Overrun, min(max(e.Overrun, 0), max(e.Amount, 0)))
		}
		fact := byID[e.JournalID]
		if fact == nil {
			c.add(Difference{Entry: e.ID, Column: "journal_id", Stored: e.JournalID.String(), Computed: "no such usage record"})
			continue
		}
		same := func(column string, same bool, stored, computed any) {
			if !same {
				c.add(Difference{Entry: e.ID, Column: column, Stored: fmt.Sprint(stored), Computed: fmt.Sprint(computed)})
			}
		}
		id := models.PostingID(e.JournalID, b.ID)
		same("id", e.ID == id, e.ID, id)
		same("created_at", e.CreatedAt == fact.OccurredAt, shownTime(&e.CreatedAt), shownTime(&fact.OccurredAt))
		same("session_id", models.Same(e.SessionID, fact.SessionID), models.Value(e.SessionID), models.Value(fact.SessionID))
		same("turn_id", models.Same(e.TurnID, fact.TurnID), models.Value(e.TurnID), models.Value(fact.TurnID))
		same("source", e.Source == fact.Kind, e.Source, fact.Kind)
		if amount, measures := measured(fact, b.Currency); measures {
			c.differs(e.ID, "amount", b.Currency, e.Amount, amount)
		} else if fact.Kind == models.JournalTopUp && e.Amount >= 0 {
			c.add(Difference{Entry: e.ID, Column: "amount", Stored: budget.Decimal(b.Currency, e.Amount).String(), Computed: "less than 0"})
		}
	}
	return nil
}

// measured returns what a fact took of a currency; false when the fact doesn't tell. Tools measure units of the organization's own, as
// decimals by currency; a top-up tells its currency and amount.
func measured(e *models.JournalEntry, currency string) (amount models.Amount, measures bool) {
	switch e.Kind {
	case models.JournalModelCall, models.JournalPayment:
		amount, _ = budget.CostOf(currency, e.Usage)
		return amount, true
	case models.JournalToolCall:
		if cost, ok := budget.CostOf(currency, e.Usage); ok {
			return cost, true
		}
		if currency == models.CurrencyToolCalls {
			return 1, true
		}
		var units map[string]decimal.Decimal
		_ = json.Unmarshal(e.Measures, &units) // what can't be read has measured nothing
		amount, _ = budget.Parse(currency, units[currency])
		return amount, true
	case models.JournalTopUp:
		var top struct {
			Currency string          `json:"currency"`
			Amount   decimal.Decimal `json:"amount"`
		}
		if json.Unmarshal(e.Measures, &top) != nil || top.Currency != currency {
			return 0, false
		}
		amount, err := budget.Parse(currency, top.Amount)
		return -amount, err == nil
	case models.JournalAdjustment:
	}
	return 0, false
}
