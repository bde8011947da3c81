// Package waiting lets turns that wait for budgets go on, oldest first, when there is room for them (waker.go), and keeps room for those that
// have waited long (headroom.go). It only looks and asks: whether a turn goes on is decided under the locks of its session and its budgets
// (turns.WakeForBudget).
package waiting

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// interval is how often turns that wait for budgets are looked for that nobody has told of.
	interval = 5 * time.Second
	// page is how many turns that wait for budgets are read at once, oldest first.
	page = 256
	// mostStuck is how many of them are read in a row that don't go on, when something has happened to a budget; those behind them are
	// left to the next look at all.
	mostStuck = 4 * page
	// triedAnyway is how many turns each look at all tries that others tell against; see attempts.
	triedAnyway = 16
	// orgsAtOnce is how many organizations are looked up at once.
	orgsAtOnce = 256
)

// Config is what a Waker needs. All fields but Ticks are required.
type Config struct {
	DB        *store.DB
	Committer *commit.Committer
	Clock     clock.Clock
	Logger    *slog.Logger
	// Ticks tells when to look for what nobody has told of; a ticker of five seconds when it is nil.
	Ticks <-chan time.Time
}

// Waker lets turns that wait for budgets go on, oldest first, when enough is left for them: after each settlement, top-up or change that this
// process makes, and every few seconds because of other processes, which may have died. Several may work at once, in any process: each
// turn is checked again under the locks of its session and its budgets.
type Waker struct {
	cfg   Config
	loops background.Loops
	job   *background.Job // looks for what nobody has told of

	mu sync.Mutex
	// freed are the budgets to look at, by their organizations; the zero one stands for all.
	freed map[models.OrgID]map[models.BudgetID]bool
	wake  chan struct{}

	// again is how far each organization's looks at all have come in trying those that others tell against. Only run uses it.
	again map[models.OrgID]models.WaitID
}

// New returns a Waker that remembers what it is told until Start.
func New(cfg Config) *Waker {
	k := &Waker{cfg: cfg, freed: map[models.OrgID]map[models.BudgetID]bool{}, wake: make(chan struct{}, 1), again: map[models.OrgID]models.WaitID{}}
	k.job = background.Every(cfg.Logger, "look for turns that wait for budgets", interval, k.sweep, background.Ticks(cfg.Ticks))
	return k
}

// Start looks after parked turns until Stop.
func (k *Waker) Start(ctx context.Context) error {
	if err := k.loops.Start(ctx, k.run); err != nil {
		return err
	}
	return k.job.Start(ctx)
}

// Stop ends it and waits until nothing of it runs. It may be called more than once.
func (k *Waker) Stop() {
	k.job.Stop()
	k.loops.Stop()
}

// Committed hears of what was committed: budgets that may have room for turns.
func (k *Waker) Committed(c *commit.Committed) {
	for org, budgets := range c.Freed {
		k.Wake(org, budgets...)
	}
}

// Wake tells of budgets that may have room for turns; of any, when none is named. It doesn't block.
func (k *Waker) Wake(org models.OrgID, budgets ...models.BudgetID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.freed[org] == nil {
		k.freed[org] = map[models.BudgetID]bool{}
	}
	if len(budgets) == 0 {
		// Not to be forgotten beside those that are named.
		k.freed[org][models.BudgetID{}] = true
	}
	for _, id := range budgets {
		k.freed[org][id] = true
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *Waker) take() map[models.OrgID]map[models.BudgetID]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	freed := k.freed
	k.freed = map[models.OrgID]map[models.BudgetID]bool{}
	return freed
}

func (k *Waker) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		}
		for org, budgets := range k.take() {
			if err := k.look(ctx, org, budgets); err != nil && ctx.Err() == nil {
				k.cfg.Logger.Warn("turns that wait for budgets can't be checked; trying again", "org", org, "error", err)
			}
		}
	}
}

// sweep tells of all organizations that have parked turns.
func (k *Waker) sweep(ctx context.Context) error {
	var last models.OrgID
	for {
		orgs, err := orgsWithWaiting(ctx, k.cfg.DB, last, orgsAtOnce)
		if err != nil {
			return err
		}
		for _, org := range orgs {
			k.Wake(org)
		}
		if len(orgs) < orgsAtOnce {
			return nil
		}
		last = orgs[len(orgs)-1]
	}
}

// attempts is what earlier tries at a budget have shown in this look. A turn can't go on if another one that needs no more couldn't, and a turn
// that waits because of the soft limit can't if another such turn couldn't. The exception is a turn whose session the budget no longer binds:
// such turns are found by trying some anyway.
type attempts struct {
	paused bool
	// need is the smallest need that wasn't free; 0 while all were.
	need models.Amount
}

func (t attempts) unaffordable(w *models.BudgetWait) bool {
	if w.Paused {
		return t.paused
	}
	return t.need > 0 && w.Need >= t.need
}

func (t attempts) with(w *models.BudgetWait) attempts {
	switch {
	case w.Paused:
		t.paused = true
	case t.need == 0 || w.Need < t.need:
		t.need = w.Need
	}
	return t
}

// look lets turns of an organization go on that wait for some budgets; for any, if the zero one is among them. An error with one turn doesn't keep
// those behind it waiting. A look at all budgets also keeps what turns need that have waited long.
func (k *Waker) look(ctx context.Context, org models.OrgID, budgets map[models.BudgetID]bool) error {
	var after, last models.WaitID
	var failed error
	all, past, again := budgets[models.BudgetID{}], k.again[org], 0
	stuck := 0 // turns in a row that don't go on
	waiting, found := map[models.BudgetID]bool{}, map[models.BudgetID]attempts{}
	var h *headroom
	if all {
		h = newHeadroom(clock.Millis(k.cfg.Clock))
	}
	for all || stuck < mostStuck {
		var list []models.Wait
		err := store.Of(k.cfg.DB.Read(ctx, org), org).Where("kind = 'BUDGET' AND state = 'OPEN' AND id > ?", after[:]).
			Order("id").Limit(page).Find(&list).Error
		if err != nil {
			return fmt.Errorf("read the turns of %s that wait for budgets: %w", org, err)
		}
		if len(list) == 0 {
			break
		}
		after = list[len(list)-1].ID
		for i := range list {
			w := &list[i]
			need := hold.Awaited(*w)
			waiting[need.Budget] = true
			stuck++
			if !all && !budgets[need.Budget] {
				continue
			}
			if found[need.Budget].unaffordable(need) {
				if !all || again == triedAnyway || bytes.Compare(w.ID[:], past[:]) <= 0 {
					continue
				}
				again, last = again+1, w.ID
			}
			goesOn, now, err := k.try(ctx, w, h)
			switch {
			case ctx.Err() != nil:
				return err
			case err != nil:
				failed = err
			case goesOn:
				stuck = 0
			default:
				waiting[now.Budget] = true
				found[now.Budget] = found[now.Budget].with(now)
			}
		}
	}
	if all {
		// Those that were left come next, and then it begins anew.
		if delete(k.again, org); again == triedAnyway {
			k.again[org] = last
		}
	}
	if failed != nil || stuck >= mostStuck {
		return failed
	}
	return k.forget(ctx, org, budgets, waiting)
}

// try lets a turn go on, if it can. Otherwise now is what it waits for, which may be another budget than before, and what it needs may be kept
// for it in h; nil keeps nothing.
func (k *Waker) try(ctx context.Context, w *models.Wait, h *headroom) (goesOn bool, now *models.BudgetWait, err error) {
	c := &wake{wait: w}
	if h.wanted(w) {
		if err := h.read(ctx, k.cfg.DB, w.OrgID); err != nil {
			return false, nil, err
		}
		c.headroom = h
	}
	if err := k.cfg.Committer.Submit(ctx, c); err != nil {
		return false, nil, fmt.Errorf("look at the turn %s that waits for a budget: %w", w.TurnID, err)
	}
	if c.now == nil {
		return c.goesOn, hold.Awaited(*w), nil
	}
	if c.kept {
		h.keep(c.now)
	}
	return c.goesOn, c.now, nil
}

// forget marks budgets as such that no turn waits for any more, so that what they settle is told to nobody.
func (k *Waker) forget(ctx context.Context, org models.OrgID, budgets, waiting map[models.BudgetID]bool) error {
	var ids []models.BudgetID
	for id := range budgets {
		if !waiting[id] && !id.IsZero() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, func(a, b models.BudgetID) int { return bytes.Compare(a[:], b[:]) })
	err := k.cfg.DB.Write(ctx, org, func(tx *gorm.DB) error {
		// Whoever parks a turn holds the lock of its budget until the commit: so what is read behind the lock is all there is.
		var locked []models.Budget
		if err := store.Of(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), org).Where("id IN ? AND contended", ids).Order("id").Find(&locked).Error; err != nil || len(locked) == 0 {
			return err
		}
		var open []models.Wait
		if err := store.Of(tx, org).Where("kind = 'BUDGET' AND state = 'OPEN'").Limit(1).Find(&open).Error; err != nil || len(open) > 0 {
			return err
		}
		return store.Of(tx, org).Model(&models.Budget{}).Where("id IN ?", ids).Update("contended", false).Error
	})
	if err != nil {
		return fmt.Errorf("mark budgets of %s that no turn waits for: %w", org, err)
	}
	return nil
}

// wake looks at a turn that waits for a budget.
type wake struct {
	wait *models.Wait
	// headroom keeps what the turn needs if too little is free; nil keeps nothing.
	headroom *headroom

	// goesOn is true when it waits no more; now is what it waits for, nil when there is no such wait; kept is true when what it needs is kept.
	// All are set by Apply.
	goesOn bool
	now    *models.BudgetWait
	kept   bool
}

func (c *wake) Needs() commit.Needs {
	return turns.Needs(commit.Needs{Org: c.wait.OrgID, Session: c.wait.SessionID, Budgets: true, Bytes: 4096}, c.wait.ID)
}

func (c *wake) Apply(tx *commit.Tx) error {
	c.goesOn, c.now, c.kept = false, nil, false
	w, ok := tx.Wait(c.wait.ID)
	if !ok {
		return nil
	}
	var err error
	c.goesOn, err = turns.WakeForBudget(tx, w)
	if w, ok = tx.Wait(c.wait.ID); ok {
		c.now = hold.Awaited(w)
	}
	if err == nil && !c.goesOn && c.now != nil && c.headroom != nil {
		c.kept, err = hold.Keep(tx, w, c.headroom.until, c.headroom.idleOf)
	}
	return err
}
