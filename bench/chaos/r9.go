package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// spenders is how many sessions spend from the same budgets.
	spenders = 100
	// between is how long a session thinks between two turns at most: one whose budget is used up would have nothing but ends.
	between = 600
	// fixedSeconds and rollingSeconds are the length of the periods of two of the budgets.
	fixedSeconds, rollingSeconds = 5, 10
)

// unlimited takes the limits of organizations away: one makes all of the load, and its provider is this program.
var unlimited = []string{
	"OSTLER_EGRESS_ALLOW_LOOPBACK=true", "OSTLER_ORG_REQUESTS_PER_MINUTE=0", "OSTLER_ORG_ACTIVE_TURNS=0", "OSTLER_ORG_QUEUED_TURNS=0",
	"OSTLER_ORG_SESSIONS=0", "OSTLER_ORG_AGENTS=0", "OSTLER_ORG_TOOL_CALLS=0", "OSTLER_ORG_SUBSCRIPTIONS=0", "OSTLER_ORG_SOCKETS=0",
}

// spending is the common purse of R9.
type spending struct {
	*trial

	org      *org
	provider *provider
	books    *books
	// purses are the budgets that are topped up.
	purses []purse
	scale  float64 // of the amounts, by the number of sessions
	before int     // how many sessions there were before the budgets

	reconciled atomic.Int64
	mu         sync.Mutex
	toppedUp   models.Amount // what was acknowledged, each key once
	topUps     int
	repeated   int
}

// purse is a budget that is topped up: by some part of a size, when less than that is left of it.
type purse struct {
	id, currency string
	size         models.Amount
}

// spend is R9: processes are killed while many sessions draw on the same budgets.
func (s *suite) spend(ctx context.Context, kind string) error {
	return s.with(ctx, "R9", kind, shape{nodes: nodesOn(kind), env: unlimited}, func(ctx context.Context, t *trial) error {
		p, err := t.startProvider(ctx)
		if err != nil {
			return err
		}
		defer p.close()
		sp := &spending{trial: t, org: t.people.orgs[0], provider: p, scale: 1, before: len(t.journal.sessions)}
		workers := spenders
		if t.short {
			workers = t.workers
			sp.scale = max(0.2, float64(workers)/spenders)
		}
		if err := sp.prepare(ctx); err != nil {
			return fmt.Errorf("prepare budgets: %w", err)
		}
		l := &load{workers: workers, script: sp.script, rest: func() time.Duration { return t.rollDuration(0, between*time.Millisecond) }}
		watching, stop := context.WithCancel(ctx)
		var beside sync.WaitGroup
		beside.Go(func() { sp.books.watch(watching) })
		beside.Go(func() { sp.topUp(watching) })
		t.begin(ctx, l)
		err = sp.kill(ctx)
		l.finish()
		stop()
		beside.Wait()
		if err != nil {
			return err
		}
		return sp.settle(ctx)
	})
}

// script orders a turn with some rounds of tools.
func (sp *spending) script() string { return fmt.Sprintf(order, sp.roll(0, 4), sessionHere) }

// prepare makes the provider, its model, the agent and the budgets, all in one organization.
func (sp *spending) prepare(ctx context.Context) error {
	orgID, err := models.ParseID[models.OrgEntity](sp.org.id)
	if err != nil {
		return err
	}
	sp.books = &books{a: sp.arena, org: orgID, most: map[string]models.Amount{}, above: map[string]models.Amount{}}
	var provider struct {
		CreateProvider struct{ Provider struct{ ID string } }
	}
	err = sp.make(ctx, `createProvider`, `CreateProviderInput`, `provider { id }`,
		map[string]any{"name": "Purse", "kind": "OPENAI_COMPATIBLE", "baseUrl": sp.provider.url + "/v1", "apiKey": "none"}, &provider)
	if err != nil {
		return err
	}
	var model struct {
		CreateModel struct{ Model struct{ ID string } }
	}
	err = sp.make(ctx, `createModel`, `CreateModelInput`, `model { id }`, map[string]any{
		"providerId": provider.CreateProvider.Provider.ID, "name": "spender", "maxOutputTokens": mostOutput, "contextWindowTokens": 200_000,
		"price": map[string]any{"input": fmt.Sprint(nanosInput / 1000), "output": fmt.Sprint(nanosOutput / 1000)},
	}, &model)
	if err != nil {
		return err
	}
	var agent struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	err = sp.make(ctx, `createAgent`, `CreateAgentInput`, `agent { id }`, map[string]any{
		"name": "spender", "systemPrompt": "Answer.", "defaultModelId": model.CreateModel.Model.ID, "capabilities": []any{map[string]any{"id": "chaos"}},
	}, &agent)
	if err != nil {
		return err
	}
	sp.org.agent = agent.CreateAgent.Agent.ID
	// From here on all sessions are in this organization.
	sp.people.mu.Lock()
	sp.people.orgs = []*org{sp.org}
	sp.people.mu.Unlock()
	dollars, err := sp.budget(ctx, "ORG", sp.org.id, models.CurrencyUSD, sp.amount("0.5"), nil)
	if err != nil {
		return err
	}
	tokens, err := sp.budget(ctx, "ORG", sp.org.id, models.CurrencyTokens, sp.amount("1500000"), map[string]any{"kind": "FIXED", "seconds": 60})
	if err != nil {
		return err
	}
	sp.purses = []purse{{dollars, models.CurrencyUSD, 400_000_000}, {tokens, models.CurrencyTokens, 600_000}}
	_, err = sp.budget(ctx, "AGENT", sp.org.agent, models.CurrencyToolCalls, sp.amount("500"), map[string]any{"kind": "ROLLING", "seconds": 60})
	if err != nil {
		return err
	}
	return sp.hurry(ctx)
}

// hurry makes the periods shorter than the API lets anybody: so a run sees the ends of many.
func (sp *spending) hurry(ctx context.Context) error {
	return sp.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		all := store.CrossOrg(tx)
		if err := all.Exec(`UPDATE budgets SET period_seconds = ? WHERE period_kind = 'ROLLING'`, rollingSeconds).Error; err != nil {
			return err
		}
		return all.Exec(`UPDATE budgets SET period_seconds = ?, period_ends_at = period_started_at + ? WHERE period_kind = 'FIXED'`,
			fixedSeconds, fixedSeconds*1000).Error
	})
}

// amount scales one to the number of sessions.
func (sp *spending) amount(full string) string {
	var f float64
	_, _ = fmt.Sscan(full, &f)
	if f *= sp.scale; f < 1 {
		return fmt.Sprintf("%.9f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

func (sp *spending) make(ctx context.Context, mutation, input, want string, with map[string]any, out any) error {
	_, _, err := sp.ask(ctx, sp.org, `mutation($input: `+input+`!) { `+mutation+`(input: $input) { `+want+errorsWanted+` } }`, map[string]any{"input": with}, out)
	return err
}

func (sp *spending) budget(ctx context.Context, subject, id, currency, limit string, period any) (string, error) {
	var out struct {
		CreateBudget struct{ Budget struct{ ID string } }
	}
	err := sp.make(ctx, `createBudget`, `CreateBudgetInput`, `budget { id }`,
		map[string]any{"subject": subject, "subjectId": id, "currency": currency, "limit": limit, "period": period}, &out)
	return out.CreateBudget.Budget.ID, err
}

// topUp tops budgets up when they are nearly gone, not always at once, and now and then again under the same key. A key is asked with until
// it is acknowledged: then it counts, once. What one of them has periods for is held beyond their ends, of what was topped up, too.
func (sp *spending) topUp(ctx context.Context) {
	const mutation = `mutation($input: TopUpBudgetInput!) { topUpBudget(input: $input) { budget { id balance }` + errorsWanted + ` } }`
	for ; ctx.Err() == nil; wait(ctx, 150*time.Millisecond) {
		p := sp.purses[sp.roll(0, len(sp.purses)-1)]
		size := float64(p.size) * sp.scale
		var left []struct{ Amount models.Amount }
		err := sp.query(ctx, &left, `SELECT limit_amount + credits - spent AS amount FROM budgets WHERE org_id = ? AND currency = ?`, sp.books.org, p.currency)
		if err != nil || len(left) != 1 || left[0].Amount > models.Amount(size) || sp.roll(0, 2) == 0 {
			continue
		}
		amount := models.Amount(size * float64(sp.roll(25, 200)) / 100)
		input := map[string]any{"input": map[string]any{
			"budgetId": p.id, "amount": budget.Decimal(p.currency, amount).String(), "idempotencyKey": uuid.NewString(),
		}}
		for again := range 1 + sp.roll(0, 2)/2 {
			// What was begun is brought to its end.
			if _, _, err := sp.ask(context.WithoutCancel(ctx), sp.org, mutation, input, nil); err != nil {
				sp.journal.stickf("a top-up was not acknowledged: %v", err)
				return
			}
			sp.mu.Lock()
			if again == 0 {
				sp.toppedUp += amount
				sp.topUps++
			} else {
				sp.repeated++
			}
			sp.mu.Unlock()
		}
	}
}

// kill kills processes one by one, and at the end of each round all at once; then the books must be right while nobody works on them.
func (sp *spending) kill(ctx context.Context) error {
	rounds := sp.rounds
	if rounds == 0 {
		rounds = max(1, sp.kills/10)
	}
	sp.killed = func(ctx context.Context) error {
		return sp.books.check(ctx, fmt.Sprintf("after kill %d", sp.faults), false)
	}
	for i := range rounds {
		if _, err := sp.killSome(ctx, sp.kills*(i+1)/rounds-sp.kills*i/rounds); err != nil {
			return err
		}
		if ctx.Err() != nil || sp.isStuck() {
			return ctx.Err()
		}
		if err := sp.killAll(ctx, fmt.Sprintf("round %d, all processes are down", i+1)); err != nil {
			return err
		}
	}
	wait(ctx, time.Second)
	return nil
}

func (sp *spending) killAll(ctx context.Context, when string) error {
	for _, n := range sp.nodes {
		n.away.Store(true)
		n.current().Kill()
		sp.faults++
	}
	err := sp.books.check(ctx, when, false)
	if err == nil {
		err = sp.reconcile(ctx, when)
	}
	if err != nil {
		return err
	}
	var starts sync.WaitGroup
	failed := make([]error, len(sp.nodes))
	for i, n := range sp.nodes {
		starts.Go(func() { failed[i] = sp.restart(ctx, n) })
	}
	starts.Wait()
	return errors.Join(failed...)
}

// reconcile asks the product itself for its opinion.
func (sp *spending) reconcile(ctx context.Context, when string) error {
	cmd := exec.CommandContext(ctx, sp.program, "admin", "reconcile")
	cmd.Env = sp.nodes[0].env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		sp.books.failf("%s: ostler admin reconcile says: %s", when, out)
	case err != nil:
		return err
	case !strings.Contains(string(out), " 0 differences"):
		sp.books.failf("%s: ostler admin reconcile says: %s", when, out)
	}
	sp.reconciled.Add(1)
	return nil
}

// settle judges what was spent.
func (sp *spending) settle(ctx context.Context) error {
	e, v, err := sp.conclude(ctx, "kill -9 of a random process about every second, and of all at once")
	if err != nil {
		return err
	}
	if err := sp.books.check(ctx, "at the end", true); err != nil {
		return err
	}
	if err := sp.reconcile(ctx, "at the end"); err != nil {
		return err
	}
	if err := sp.judge(ctx, e); err != nil {
		return err
	}
	sp.addRight(v, nil)
	return nil
}

// hard adds a figure that must be 0.
func (sp *spending) hard(name, unit string, value float64, note string) {
	sp.add(report.Figure{Name: name, Unit: unit, Value: value, Gate: report.AtMost(0), Target: report.AtMost(0), Note: note})
}
