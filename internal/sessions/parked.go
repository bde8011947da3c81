package sessions

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
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// parkedInterval is how often turns that wait for budgets are looked for that nobody has told of.
	parkedInterval = 5 * time.Second
	// parkedPage is how many turns that wait for budgets are read at once, oldest first.
	parkedPage = 256
	// parkedRead is how many of them are read in a row that don't go on, when something has happened to a budget; those behind them are
	// left to the next look at all.
	parkedRead = 4 * parkedPage
	// parkedAgain is how many turns each look at all tries that others tell against; see tried.
	parkedAgain = 16
	// parkedOrgs is how many organizations are looked up at once.
	parkedOrgs = 256
)

// ParkedConfig is what Parked needs. All fields but Ticks are required.
type ParkedConfig struct {
	DB        *store.DB
	Committer *commit.Committer
	Clock     clock.Clock
	Logger    *slog.Logger
	// Ticks tells when to look for what nobody has told of; a ticker of five seconds when it is nil.
	Ticks <-chan time.Time
}

// Parked lets turns that wait for budgets go on, oldest first, when enough is left for them: after each settlement, top-up or change that this
// process makes, and every few seconds because of other processes, which may have died. Several may work at once, in any process: each
// turn is checked again under the locks of its session and its budgets.
type Parked struct {
	cfg   ParkedConfig
	loops background.Loops
	job   *background.Job // looks for what nobody has told of

	mu sync.Mutex
	// freed are the budgets to look at, by their organizations; the zero one stands for all.
	freed map[models.OrgID]map[models.BudgetID]bool
	wake  chan struct{}

	// again is how far each organization's looks at all have come in trying those that others tell against. Only run uses it.
	again map[models.OrgID]models.WaitID
}

// NewParked makes a Parked that remembers what it is told until Start.
func NewParked(cfg ParkedConfig) *Parked {
	p := &Parked{cfg: cfg, freed: map[models.OrgID]map[models.BudgetID]bool{}, wake: make(chan struct{}, 1), again: map[models.OrgID]models.WaitID{}}
	p.job = background.Every(cfg.Logger, "look for turns that wait for budgets", parkedInterval, p.sweep, background.Ticks(cfg.Ticks))
	return p
}

// Start looks after parked turns until Stop.
func (p *Parked) Start(ctx context.Context) error {
	if err := p.loops.Start(ctx, p.run); err != nil {
		return err
	}
	return p.job.Start(ctx)
}

// Stop ends it and waits until nothing of it runs. It may be called more than once.
func (p *Parked) Stop() {
	p.job.Stop()
	p.loops.Stop()
}

// Committed hears of what was committed: budgets that may have room for turns.
func (p *Parked) Committed(c *commit.Committed) {
	for org, budgets := range c.Freed {
		p.Wake(org, budgets...)
	}
}

// Wake tells of budgets that may have room for turns; of any, when none is named. It doesn't block.
func (p *Parked) Wake(org models.OrgID, budgets ...models.BudgetID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed[org] == nil {
		p.freed[org] = map[models.BudgetID]bool{}
	}
	if len(budgets) == 0 {
		// Not to be forgotten beside those that are named.
		p.freed[org][models.BudgetID{}] = true
	}
	for _, id := range budgets {
		p.freed[org][id] = true
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Parked) take() map[models.OrgID]map[models.BudgetID]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	freed := p.freed
	p.freed = map[models.OrgID]map[models.BudgetID]bool{}
	return freed
}

func (p *Parked) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		for org, budgets := range p.take() {
			if err := p.look(ctx, org, budgets); err != nil && ctx.Err() == nil {
				p.cfg.Logger.Warn("turns that wait for budgets can't be checked; trying again", "org", org, "error", err)
			}
		}
	}
}

// sweep tells of all organizations that have parked turns.
func (p *Parked) sweep(ctx context.Context) error {
	var last models.OrgID
	for {
		orgs, err := orgsWithParked(ctx, p.cfg.DB, last, parkedOrgs)
		if err != nil {
			return err
		}
		for _, org := range orgs {
			p.Wake(org)
		}
		if len(orgs) < parkedOrgs {
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
func (p *Parked) look(ctx context.Context, org models.OrgID, budgets map[models.BudgetID]bool) error {
	var after, last models.WaitID
	var failed error
	all, past, again := budgets[models.BudgetID{}], p.again[org], 0
	stuck := 0 // turns in a row that don't go on
	waiting, found := map[models.BudgetID]bool{}, map[models.BudgetID]attempts{}
	var h *headroom
	if all {
		h = newHeadroom(clock.Millis(p.cfg.Clock))
	}
	for all || stuck < parkedRead {
		var list []models.Wait
		err := store.Of(p.cfg.DB.Read(ctx, org), org).Where("kind = 'BUDGET' AND state = 'OPEN' AND id > ?", after[:]).
			Order("id").Limit(parkedPage).Find(&list).Error
		if err != nil {
			return fmt.Errorf("read the turns of %s that wait for budgets: %w", org, err)
		}
		if len(list) == 0 {
			break
		}
		after = list[len(list)-1].ID
		for i := range list {
			w := &list[i]
			need := turns.ReadRequest(*w).Budget
			waiting[need.Budget] = true
			stuck++
			if !all && !budgets[need.Budget] {
				continue
			}
			if found[need.Budget].unaffordable(need) {
				if !all || again == parkedAgain || bytes.Compare(w.ID[:], past[:]) <= 0 {
					continue
				}
				again, last = again+1, w.ID
			}
			goesOn, now, err := p.try(ctx, w, h)
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
		if delete(p.again, org); again == parkedAgain {
			p.again[org] = last
		}
	}
	if failed != nil || stuck >= parkedRead {
		return failed
	}
	return p.forget(ctx, org, budgets, waiting)
}

// try lets a turn go on, if it can. Otherwise now is what it waits for, which may be another budget than before, and what it needs may be kept
// for it in h; nil keeps nothing.
func (p *Parked) try(ctx context.Context, w *models.Wait, h *headroom) (goesOn bool, now *models.BudgetWait, err error) {
	c := &wakeParked{expireWait: expireWait{org: w.OrgID, session: w.SessionID, wait: w.ID}}
	if h.wanted(w) {
		if err := h.read(ctx, p.cfg.DB, w.OrgID); err != nil {
			return false, nil, err
		}
		c.headroom = h
	}
	if err := p.cfg.Committer.Submit(ctx, c); err != nil {
		return false, nil, fmt.Errorf("look at the turn %s that waits for a budget: %w", w.TurnID, err)
	}
	if c.now == nil {
		return c.goesOn, turns.ReadRequest(*w).Budget, nil
	}
	if c.kept {
		h.keep(c.now)
	}
	return c.goesOn, c.now, nil
}

// forget marks budgets as such that no turn waits for any more, so that what they settle is told to nobody.
func (p *Parked) forget(ctx context.Context, org models.OrgID, budgets, waiting map[models.BudgetID]bool) error {
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
	err := p.cfg.DB.Write(ctx, org, func(tx *gorm.DB) error {
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

// wakeParked looks at a turn that waits for a budget.
type wakeParked struct {
	expireWait

	// goesOn is true when it waits no more, now what it waits for; nil when there is no such wait. Both are set by Apply.
	goesOn bool
	now    *models.BudgetWait
	// headroom keeps what it needs if too little is free; nil keeps nothing. kept is set by Apply.
	headroom *headroom
	kept     bool
}

func (c *wakeParked) Needs() commit.Needs {
	n := c.expireWait.Needs()
	n.Budgets = true
	return n
}

func (c *wakeParked) Apply(tx *commit.Tx) error {
	c.goesOn, c.now, c.kept = false, nil, false
	w, ok := tx.Wait(c.wait)
	if !ok {
		return nil
	}
	var err error
	c.goesOn, err = turns.WakeForBudget(tx, w)
	if w, ok = tx.Wait(c.wait); ok {
		c.now = turns.ReadRequest(w).Budget
	}
	if err == nil && !c.goesOn && c.now != nil && c.headroom != nil {
		c.kept, err = turns.KeepHeadroom(tx, w, c.headroom.until, c.headroom.idleOf)
	}
	return err
}
