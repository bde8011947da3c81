package books

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/csvfile"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// ExportKind tells what is exported.
type ExportKind string

// The kinds of exports.
const (
	// ExportUsage is what was used, by groups.
	ExportUsage ExportKind = "usage"
	// ExportJournal is the facts that usage is added up from.
	ExportJournal ExportKind = "journal"
	// ExportLedger is the postings of a budget.
	ExportLedger ExportKind = "ledger"
)

// Export tells what to export.
type Export struct {
	Kind ExportKind
	// Query is the time of all kinds, and the groups of ExportUsage. The whole of a ledger is exported where no time is given.
	Query UsageQuery
	// Budget is that of a ledger.
	Budget models.BudgetID
}

// WriteCSV writes an export, oldest first, with a header. Before anything is written, what can't be exported is refused with a *fault.Error.
// Names beside ids are shown to those who may read what they are of.
func (u *Usage) WriteCSV(ctx context.Context, by *auth.Principal, in Export, to io.Writer) error {
	x := &export{usage: u, by: by, to: to, names: newExportNames(by)}
	switch in.Kind {
	case ExportUsage:
		return x.groups(ctx, in.Query)
	case ExportJournal:
		return x.journal(ctx, in.Query)
	case ExportLedger:
		return x.ledger(ctx, in.Query, in.Budget)
	}
	return fault.New(fault.Invalid, "kind must be usage, journal or ledger, not %.20q.", string(in.Kind)).At("kind")
}

// export is an export that is being written.
type export struct {
	usage *Usage
	by    *auth.Principal
	to    io.Writer
	names *exportNames
}

// pages writes the export; see csvfile.Write.
func (x *export) pages(ctx context.Context, header []string, read func() ([][]string, error)) error {
	return csvfile.Write(ctx, x.to, header, read)
}

func optionalCell(s *string) string {
	if s == nil {
		return ""
	}
	return csvfile.Cell(*s)
}

// idCell returns an id; nothing for none.
func idCell[E models.Entity](id *models.ID[E]) string {
	if id == nil || id.IsZero() {
		return ""
	}
	return id.String()
}

func numberCell(n int64) string { return strconv.FormatInt(n, 10) }

func dollarCell(n models.Nanos) string { return decimal.New(int64(n), -9).String() }

func (x *export) groups(ctx context.Context, q UsageQuery) error {
	if err := q.Check(); err != nil {
		return err
	}
	var header []string
	for _, g := range q.GroupBy {
		switch g {
		case ByDay, ByTool:
			header = append(header, strings.ToLower(string(g)))
		case ByCustomer:
			header = append(header, "customer_key")
		case ByModel, ByAgent, ByUser, BySession:
			header = append(header, strings.ToLower(string(g))+"_id", strings.ToLower(string(g)))
		}
	}
	header = append(header, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd", "unpriced_calls",
		"model_calls", "tool_calls", "turns")
	var after *UsageKey
	return x.pages(ctx, header, func() ([][]string, error) {
		rows, err := x.usage.Groups(ctx, x.by.OrgID, q, after, csvfile.PageRows)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			k := &rows[i].UsageKey
			x.names.expect(k.ModelID, k.AgentID, k.UserID, k.SessionID)
			after = k
		}
		if err := x.names.read(ctx, x.usage); err != nil {
			return nil, err
		}
		lines := make([][]string, len(rows))
		for i := range rows {
			lines[i] = x.group(q.GroupBy, &rows[i])
		}
		return lines, nil
	})
}

func (x *export) group(groups []UsageGroup, row *UsageRow) (line []string) {
	k, s := &row.UsageKey, &row.UsageSums
	for _, g := range groups {
		switch g {
		case ByDay:
			line = append(line, models.Millis(k.Day*int64(usageDay)).Time().Format(time.DateOnly))
		case ByTool:
			line = append(line, csvfile.Cell(k.Tool))
		case ByCustomer:
			line = append(line, csvfile.Cell(k.CustomerKey))
		case ByModel:
			line = append(line, idCell(&k.ModelID), csvfile.Cell(x.names.models[k.ModelID]))
		case ByAgent:
			line = append(line, idCell(&k.AgentID), csvfile.Cell(x.names.agents[k.AgentID]))
		case ByUser:
			line = append(line, idCell(&k.UserID), csvfile.Cell(x.names.users[k.UserID]))
		case BySession:
			line = append(line, idCell(&k.SessionID), csvfile.Cell(x.names.sessions[k.SessionID]))
		}
	}
	cost := ""
	if s.UnpricedCalls == 0 { // as everywhere, a part of a cost is not shown as the whole
		cost = dollarCell(s.CostNanos)
	}
	return append(line, numberCell(s.InputTokens), numberCell(s.OutputTokens), numberCell(s.CacheReadTokens), numberCell(s.CacheWriteTokens), numberCell(s.ReasoningTokens),
		cost, numberCell(s.UnpricedCalls), numberCell(s.ModelCalls), numberCell(s.ToolCalls), numberCell(s.Turns))
}

// exportPlace is where a page of facts or postings ends.
type exportPlace struct {
	at models.Millis
	id storedID
}

func (x *export) journal(ctx context.Context, q UsageQuery) error {
	if err := checkRange(q.From, q.To); err != nil {
		return err
	}
	header := []string{
		"occurred_at", "id", "kind", "session_id", "turn_id", "user_id", "user", "agent_id", "agent", "harness_id", "customer_key", "model_id", "model", "tool",
		"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd", "unpriced", "provider_cost", "estimated",
		"duration_ms", "measures",
	}
	after := exportPlace{at: q.From, id: storedID{}}
	return x.pages(ctx, header, func() ([][]string, error) {
		rows, err := x.usage.facts(ctx, x.by.OrgID, after, q.To, csvfile.PageRows)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			e := &rows[i]
			after = exportPlace{e.OccurredAt, storedID(e.ID)}
			x.names.expect(models.ModelID{}, models.Value(e.AgentID), models.Value(e.UserID), models.SessionID{})
		}
		if err := x.names.read(ctx, x.usage); err != nil {
			return nil, err
		}
		lines := make([][]string, len(rows))
		for i := range rows {
			lines[i] = x.fact(&rows[i])
		}
		return lines, nil
	})
}

func (x *export) fact(e *models.JournalEntry) []string {
	v, cost := &e.Usage, ""
	if !v.Unpriced {
		cost = dollarCell(v.CostNanos)
	}
	return []string{
		csvfile.Time(e.OccurredAt), e.ID.String(), string(e.Kind), idCell(e.SessionID), idCell(e.TurnID), idCell(e.UserID), csvfile.Cell(x.names.users[models.Value(e.UserID)]),
		idCell(e.AgentID), csvfile.Cell(x.names.agents[models.Value(e.AgentID)]), idCell(e.HarnessID), optionalCell(e.CustomerKey), idCell(e.ModelID), csvfile.Cell(e.Model), csvfile.Cell(e.Tool),
		numberCell(v.InputTokens), numberCell(v.OutputTokens), numberCell(v.CacheReadTokens), numberCell(v.CacheWriteTokens), numberCell(v.ReasoningTokens), cost,
		strconv.FormatBool(v.Unpriced), strconv.FormatBool(e.ProviderCost), strconv.FormatBool(e.Estimated), numberCell(e.DurationMs), csvfile.Cell(string(e.Measures)),
	}
}

// facts reads the journal behind a position and before a time, oldest first.
func (u *Usage) facts(ctx context.Context, org models.OrgID, after exportPlace, to models.Millis, limit int) ([]models.JournalEntry, error) {
	var rows []models.JournalEntry
	err := store.Of(u.db.Read(ctx, org), org).Where("(occurred_at, id) > (?, ?) AND occurred_at < ?", after.at, after.id, to).
		Order("occurred_at, id").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the usage records of %s: %w", org, err)
	}
	return rows, nil
}

func (x *export) ledger(ctx context.Context, q UsageQuery, id models.BudgetID) error {
	org := x.by.OrgID
	if q.From >= q.To {
		return fault.New(fault.Invalid, "from must be before to.").At("from")
	}
	b, err := rows.Get(x.usage.db.Read(ctx, org), org, id)
	if err != nil {
		return fault.At(err, "budgetId")
	}
	currency := b.Currency
	amount := func(a models.Amount) string { return budget.Decimal(currency, a).String() }
	header := []string{
		"created_at", "id", "budget_id", "currency", "source", "amount", "overrun", "journal_id", "session_id", "turn_id", "period_started_at", "description",
	}
	after := exportPlace{at: q.From}
	return x.pages(ctx, header, func() ([][]string, error) {
		var rows []models.LedgerEntry
		err := store.Of(x.usage.db.Read(ctx, org), org).Where("budget_id = ? AND (created_at, id) > (?, ?) AND created_at < ?", id, after.at, after.id, q.To).
			Order("created_at, id").Limit(csvfile.PageRows).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("read the ledger of %s: %w", id, err)
		}
		lines := make([][]string, len(rows))
		for i := range rows {
			p := &rows[i]
			after = exportPlace{p.CreatedAt, storedID(p.ID)}
			lines[i] = []string{
				csvfile.Time(p.CreatedAt), p.ID.String(), id.String(), currency, string(p.Source), amount(p.Amount), amount(p.Overrun), p.JournalID.String(),
				idCell(p.SessionID), idCell(p.TurnID), csvfile.Time(p.PeriodStartedAt), optionalCell(p.Description),
			}
		}
		return lines, nil
	})
}
