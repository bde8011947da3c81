package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/models"
)

// fact is a model call in the journal.
type fact struct {
	ID                        models.JournalID
	TurnID                    models.TurnID
	Estimated                 bool
	InputTokens, OutputTokens int64
}

// posting is a debit of a model call.
type posting struct {
	JournalID       models.JournalID
	BudgetID        models.BudgetID
	Currency        string
	Amount, Overrun models.Amount
}

// account is what comes of comparing the provider's calls with the journal and the ledger.
type account struct {
	wrong []string
	// served are the provider's calls, journaled those that the journal has as they were, estimated what it has of calls that were cut.
	served, journaled, estimated int
	// cutWhole counts answers that had been sent whole when their runner was killed, and notAsked calls that it had not made yet.
	cutWhole, notAsked int
	double, lost       int
	// reported and posted are the overruns by currency: as the provider's answers say, and as the ledger does; guessed are those of estimates.
	reported, posted, guessed map[string]models.Amount
}

func (c *account) failf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// compare holds the journal and the ledger against what the provider has served. epochs are how often turns were taken up.
func compare(calls map[models.TurnID]map[took]*served, facts []fact, postings map[models.JournalID][]posting, epochs map[models.TurnID]int64) *account {
	c := &account{reported: map[string]models.Amount{}, posted: map[string]models.Amount{}, guessed: map[string]models.Amount{}}
	known := map[*served]bool{}
	guesses := map[models.TurnID]int{}
	for _, f := range facts {
		t := took{f.InputTokens, f.OutputTokens}
		if f.Estimated {
			c.estimated++
			guesses[f.TurnID]++
			for _, p := range postings[f.ID] {
				c.guessed[p.Currency] += p.Overrun
			}
			continue
		}
		call := calls[f.TurnID][t]
		switch {
		case call == nil:
			c.double++
			c.failf("the journal has a call of turn %s that the model never answered: %+v", f.TurnID, t)
			continue
		case known[call]:
			c.double++
			c.failf("the journal has a call of turn %s twice: %+v", f.TurnID, t)
		}
		known[call] = true
		c.journaled++
		c.post(f, call, postings[f.ID])
	}
	for turn, list := range calls {
		unknown := 0
		for _, call := range list {
			c.served++
			if known[call] {
				continue
			}
			unknown++
			if call.whole {
				c.cutWhole++
			}
		}
		switch more := guesses[turn] - unknown; {
		case more < 0:
			c.lost -= more
			c.failf("turn %s: %d calls are neither in the journal nor estimated", turn, -more)
		case int64(more) > epochs[turn]-1:
			c.double += more
			c.failf("turn %s: %d calls were estimated more than were made, and it was taken up %d times", turn, more, epochs[turn])
		default:
			c.notAsked += more
		}
		delete(guesses, turn)
	}
	for turn, n := range guesses {
		c.notAsked += n
		if int64(n) > epochs[turn] {
			c.double += n
			c.failf("turn %s: %d calls were estimated, none was made", turn, n)
		}
	}
	return c
}

// post holds the postings of a call against what it took and what was held for it.
func (c *account) post(f fact, call *served, list []posting) {
	posted := map[models.BudgetID]bool{}
	for _, p := range list {
		cost := call.took.cost(p.Currency)
		over := max(cost-call.held[p.BudgetID], 0)
		posted[p.BudgetID] = true
		c.reported[p.Currency] += over
		c.posted[p.Currency] += p.Overrun
		if p.Amount != cost || p.Overrun != over {
			c.failf("a call of turn %s took %d of %s, %d above what was held; the ledger says %d and %d", f.TurnID, cost, p.Currency, over, p.Amount, p.Overrun)
		}
	}
	for id := range call.held {
		if !posted[id] {
			c.lost++
			c.failf("a call of turn %s, %+v, was not posted to %s, of which it held something", f.TurnID, call.took, id)
		}
	}
	if len(call.held) == 0 {
		c.failf("a call of turn %s was made with nothing held", f.TurnID)
	}
}

// judge is O4.
func (sp *spending) judge(ctx context.Context, e *evidence) error {
	c, err := sp.account(ctx)
	if err != nil {
		return err
	}
	if err := sp.tools(ctx, e, c); err != nil {
		return err
	}
	var topped models.Amount
	if err := sp.query(ctx, &topped, `SELECT coalesce(-sum(amount), 0) FROM ledger_entries WHERE org_id = ? AND source = ?`,
		sp.books.org, models.JournalTopUp); err != nil {
		return err
	}
	if topped != sp.toppedUp {
		c.failf("%d were topped up, by the ledger %d", sp.toppedUp, topped)
	}
	if err := sp.books.periods(ctx); err != nil {
		return err
	}
	c.wrong = append(c.wrong, sp.books.wrong...)
	c.wrong = append(c.wrong, sp.provider.failed...)
	if c.journaled == 0 || sp.books.samples == 0 || sp.topUps == 0 {
		return fmt.Errorf("%d calls, %d samples, %d top-ups: the run shows nothing", c.journaled, sp.books.samples, sp.topUps)
	}
	for i, text := range c.wrong {
		if i < 20 {
			_, _ = fmt.Fprintf(sp.tell, "%s %s VIOLATES O4: %.500s\n", sp.id, sp.kind, text)
		}
	}
	note := fmt.Sprintf("by the database %d times, most while processes were down; ostler admin reconcile %d times", sp.books.looks, sp.reconciled.Load())
	if len(c.wrong) > 0 {
		note = c.wrong[0]
	}
	sp.hard("violations of O4", "", float64(len(c.wrong)), note)
	for _, currency := range slices.Sorted(maps.Keys(sp.books.above)) {
		sp.hard("overshoot of "+currency+" but for overruns", "", float64(sp.books.most[currency]),
			fmt.Sprintf("of %d samples; with overruns %d", sp.books.samples, sp.books.above[currency]))
	}
	sp.hard("double charges", "", float64(c.double), fmt.Sprintf("of %d model calls in the journal as they were; %d estimated, of which the runner had not made %d",
		c.journaled, c.estimated, c.notAsked))
	sp.hard("lost usage", "calls", float64(c.lost), fmt.Sprintf("of %d that reached the model; the runners of %d were killed, %d of them with the whole answer sent",
		c.served, c.served-c.journaled, c.cutWhole))
	for _, currency := range slices.Sorted(maps.Keys(c.reported)) {
		sp.hard("overruns of "+currency+", ledger − model", "", float64(max(c.posted[currency]-c.reported[currency], c.reported[currency]-c.posted[currency])),
			fmt.Sprintf("%d reported above the reservation; %d more by estimates", c.reported[currency], c.guessed[currency]))
	}
	waits, err := sp.waits(ctx)
	if err != nil {
		return err
	}
	sp.add(waits)
	sp.add(report.Figure{Name: "budgets at work", Value: float64(sp.stops(e)), Note: fmt.Sprintf(
		"events of budgets: %s; %d top-ups, %d of them repeated", tally(sp.happened(e)), sp.topUps, sp.repeated)})
	return nil
}

// waits returns how long turns have waited for money at most. One that has to wait again keeps its place, by which its waits are known.
func (sp *spending) waits(ctx context.Context) (f report.Figure, err error) {
	var list []models.Wait
	err = sp.query(ctx, &list, `SELECT id, created_at, resolved_at FROM waits WHERE org_id = ? AND kind = 'BUDGET'`, sp.books.org)
	if err != nil {
		return f, err
	}
	type span struct{ from, to models.Millis }
	spans := map[string]span{}
	for _, w := range list {
		place := string(w.ID[:8])
		s, again := spans[place]
		if !again || w.CreatedAt < s.from {
			s.from = w.CreatedAt
		}
		if w.ResolvedAt != nil {
			s.to = max(s.to, *w.ResolvedAt)
		}
		spans[place] = s
	}
	longest, long := models.Millis(0), 0
	for _, s := range spans {
		longest = max(longest, s.to-s.from)
		if s.to-s.from > 10_000 {
			long++
		}
	}
	return report.Figure{Name: "longest wait for money", Unit: "s", Value: float64(longest) / 1000, Note: fmt.Sprintf("of %d, %d of them over 10 s", len(spans), long)}, nil
}

// account reads the journal and the ledger, and compares.
func (sp *spending) account(ctx context.Context) (*account, error) {
	var facts []fact
	err := sp.query(ctx, &facts, `SELECT id, turn_id, estimated, input_tokens, output_tokens FROM usage_journal WHERE org_id = ? AND kind = ? AND model = 'spender'`,
		sp.books.org, models.JournalModelCall)
	if err != nil {
		return nil, err
	}
	var list []posting
	err = sp.query(ctx, &list, `SELECT l.journal_id, l.budget_id, b.currency, l.amount, l.overrun FROM ledger_entries l
		JOIN budgets b ON b.org_id = l.org_id AND b.id = l.budget_id WHERE l.org_id = ? AND l.source = ?`, sp.books.org, models.JournalModelCall)
	if err != nil {
		return nil, err
	}
	postings := map[models.JournalID][]posting{}
	for _, p := range list {
		postings[p.JournalID] = append(postings[p.JournalID], p)
	}
	var taken []struct {
		ID         models.TurnID
		LeaseEpoch int64
	}
	if err := sp.query(ctx, &taken, `SELECT id, lease_epoch FROM turns WHERE org_id = ?`, sp.books.org); err != nil {
		return nil, err
	}
	epochs := map[models.TurnID]int64{}
	for _, t := range taken {
		epochs[t.ID] = t.LeaseEpoch
	}
	return compare(sp.provider.byTurn(), facts, postings, epochs), nil
}

// tools holds the journal against the tools' file: each call that ran is in it once, and posted once.
func (sp *spending) tools(ctx context.Context, e *evidence, c *account) error {
	var rows []struct {
		SessionID models.SessionID
		N, Posted int
	}
	err := sp.query(ctx, &rows, `SELECT j.session_id, count(DISTINCT j.id) AS n, count(l.id) AS posted FROM usage_journal j
		LEFT JOIN ledger_entries l ON l.org_id = j.org_id AND l.source = j.kind AND l.journal_id = j.id AND l.amount = 1 AND l.overrun = 0
		WHERE j.org_id = ? AND j.kind = ? GROUP BY j.session_id`,
		sp.books.org, models.JournalToolCall)
	if err != nil {
		return err
	}
	journal, posted := map[string]int{}, map[string]int{}
	for _, r := range rows {
		journal[r.SessionID.String()], posted[r.SessionID.String()] = r.N, r.Posted
	}
	ran := map[string]map[string]bool{}
	for key := range e.effects {
		session, call, _ := strings.Cut(callOf(key), ":")
		if ran[session] == nil {
			ran[session] = map[string]bool{}
		}
		ran[session][call] = true
	}
	for i := range e.sessions {
		t := &e.sessions[i]
		if i < sp.before {
			continue // it was before the budgets
		}
		outcomes := 0
		for _, event := range t.log {
			if event.Kind == models.EventToolCompleted {
				outcomes++
			}
		}
		switch n := journal[t.session]; {
		case n < len(ran[t.session]):
			c.lost += len(ran[t.session]) - n
			c.failf("%s: %d calls of tools ran, the journal has %d", t.session, len(ran[t.session]), n)
		case n > outcomes:
			c.double += n - outcomes
			c.failf("%s: %d calls of tools have an outcome, the journal has %d", t.session, outcomes, n)
		case posted[t.session] != n:
			c.failf("%s: the journal has %d calls of tools, %d are posted", t.session, n, posted[t.session])
		}
	}
	return nil
}

// happened counts the events of budgets.
func (sp *spending) happened(e *evidence) map[models.EventKind]int {
	counts := map[models.EventKind]int{}
	for i := range e.sessions {
		for _, event := range e.sessions[i].log {
			if strings.HasPrefix(string(event.Kind), "BUDGET_") {
				counts[event.Kind]++
			}
		}
	}
	return counts
}

// stops counts how often a budget has stopped a turn.
func (sp *spending) stops(e *evidence) (n int) {
	for kind, count := range sp.happened(e) {
		if kind == models.EventBudgetExhausted || kind == models.EventBudgetResumed {
			n += count
		}
	}
	return n
}
