package books

import (
	"bytes"
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
	// reconcileSkew is how far apart two nodes may date postings that follow each other. A posting that comes to a window from a node that
	// is behind counts in the newest bucket, which may be that after its own.
	reconcileSkew = models.Millis(2 * time.Second / time.Millisecond)
)

// books are what the postings of a budget's present period come to.
type books struct {
	rolling bool
	// row has the sums, as package budget makes them.
	row models.Budget
	// latest is the latest period that something is posted in.
	latest models.Millis
	// dated are the debits that are in a window, or were until lately.
	dated []dated
}

type dated struct {
	at     models.Millis
	amount models.Amount
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
	b := &books{row: *stored, rolling: stored.PeriodKind != nil && *stored.PeriodKind == models.PeriodRolling}
	b.row.Spent, b.row.Credits, b.row.Buckets = 0, 0, nil
	from := stored.PeriodStartedAt - reconcileSlack
	old := summedUp{period: stored.PeriodStartedAt, until: now - reconcileSlack}
	if b.rolling {
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
	if b.rolling {
		budget.Roll(&b.row, now)
	}
	return b, nil
}

// left is before when a posting has left a window for certain, with its bucket.
func (b *books) left(now models.Millis) models.Millis {
	return now - budget.PeriodLength(&b.row) - 3*budget.BucketLength(&b.row) - reconcileSkew
}

func (b *books) post(e *models.LedgerEntry, now models.Millis, c *Checked) {
	c.Postings++
	c.Overrun += e.Overrun
	switch {
	case e.Amount < 0:
		budget.Credit(&b.row, -e.Amount, e.CreatedAt)
	case !b.rolling:
		budget.Debit(&b.row, e.Amount, e.CreatedAt)
	case e.CreatedAt >= b.left(now):
		budget.Debit(&b.row, e.Amount, e.CreatedAt)
		b.dated = append(b.dated, dated{e.CreatedAt, e.Amount})
	}
}

// fits reports whether what a row says to be spent is what the postings come to.
func (b *books) fits(stored *models.Budget, now models.Millis) bool {
	if !b.rolling {
		return stored.Spent == b.row.Spent
	}
	if stored.Spent == b.row.Spent && sameJSON(stored.Buckets, b.row.Buckets) {
		return true
	}
	return b.onlyLate(stored, now)
}

// onlyLate reports whether the buckets of a row differ from those of the postings only by some that came late, from a node whose clock is a
// little behind, and so count in the bucket after their own: from every bucket on to the newest one, the row then has as much as was
// dated there, or more by no more than what was dated just before. Buckets that are about to leave are not looked at: late postings change
// when they do.
func (b *books) onlyLate(stored *models.Budget, now models.Millis) bool {
	have, ok := budget.Buckets(stored)
	if !ok || stored.Spent != from(have, 0) {
		return false
	}
	want, ok := budget.Buckets(&b.row)
	if !ok {
		return false
	}
	newest := map[int64]models.Millis{}
	for _, p := range have {
		newest[p.Slot] = p.Newest
	}
	length := budget.BucketLength(stored)
	leaving := now - budget.PeriodLength(stored) + length + reconcileSkew
	for i, p := range slices.Concat(want, have) {
		start := models.Millis(p.Slot) * length
		if start <= leaving {
			continue
		}
		lowest := from(want, p.Slot)
		if n := from(have, p.Slot); n < lowest || n > lowest+b.justBefore(start) {
			return false
		}
		at, ok := newest[p.Slot]
		if i < len(want) && ok && at != p.Newest && (at > p.Newest || p.Newest < start+length-reconcileSkew) {
			return false
		}
	}
	return true
}

// justBefore adds up what was dated so shortly before a time that it may have come after it.
func (b *books) justBefore(at models.Millis) (sum models.Amount) {
	for _, d := range b.dated {
		if d.at < at && d.at >= at-reconcileSkew {
			sum += d.amount
		}
	}
	return sum
}

// from adds up what buckets have from a slot on.
func from(list []budget.Bucket, slot int64) (sum models.Amount) {
	for _, p := range list {
		if p.Slot >= slot {
			sum += p.Spent
		}
	}
	return sum
}

// inBuckets adds up the buckets of a row; 0 for what can't be read.
func inBuckets(b *models.Budget) models.Amount {
	list, ok := budget.Buckets(b)
	if !ok {
		return 0
	}
	return from(list, 0)
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

func sameJSON(a, b models.JSON) bool { return shownJSON(a) == shownJSON(b) }

// shownJSON writes a document without the blanks that a database may have put in.
func shownJSON(doc models.JSON) string {
	if len(doc) == 0 {
		return "null"
	}
	var out bytes.Buffer
	if json.Compact(&out, doc) != nil {
		return string(doc)
	}
	return out.String()
}
