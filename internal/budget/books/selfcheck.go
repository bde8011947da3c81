package books

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/budget/rows"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// BudgetKey names a budget of any organization.
type BudgetKey struct {
	Org models.OrgID
	ID  models.BudgetID
}

// CheckMeter hears of checks.
type CheckMeter interface {
	// BudgetsChecked counts budgets that were checked.
	BudgetsChecked(n int)
	// BudgetDifferences tells how many differences there are at present.
	BudgetDifferences(n int)
}

// SelfCheckConfig is what the self-check needs.
type SelfCheckConfig struct {
	Reconciler *Reconciler
	Clock      clock.Clock
	Logger     *slog.Logger
	Meter      CheckMeter
	// Interval is how often to check.
	Interval time.Duration
	// Ticks tells when to check; every Interval when it is nil.
	Ticks <-chan time.Time
}

// SelfCheck holds budgets against their ledgers in the background: all of them once, and then those that have changed. It only reads, but
// for what it records of differences. Several processes may do it at once.
type SelfCheck struct {
	cfg SelfCheckConfig
	// since is when the pass before has begun, and wrong what is known to be wrong, with the number of differences.
	since models.Millis
	wrong map[BudgetKey]int
	// known are the sums of old postings, which are not read again at each pass.
	known summed
}

// selfCheckSlack is how much earlier than its commit a budget may be dated: its transaction may have waited for long.
const selfCheckSlack = models.Millis(10 * time.Minute / time.Millisecond)

// NewSelfCheck returns a self-check that has checked nothing yet.
func NewSelfCheck(cfg SelfCheckConfig) *SelfCheck {
	return &SelfCheck{cfg: cfg, wrong: map[BudgetKey]int{}, known: summed{}}
}

// Job returns the job that checks.
func (s *SelfCheck) Job() *background.Job {
	return background.Every(s.cfg.Logger, "check budgets", s.cfg.Interval, s.Pass, background.Ticks(s.cfg.Ticks))
}

// Pass checks the budgets that have changed since the pass before that came to its end, and those that were wrong. An organization whose
// budgets can't be read stops no other.
func (s *SelfCheck) Pass(ctx context.Context) error {
	began := clock.Millis(s.cfg.Clock)
	var failed error
	seen := map[BudgetKey]bool{}
	check := func(org models.OrgID, ids []models.BudgetID) error {
		for _, id := range ids {
			seen[BudgetKey{org, id}] = true
		}
		if err := s.check(ctx, org, ids); err != nil {
			failed = err
		}
		return ctx.Err()
	}
	if err := changedSince(ctx, s.cfg.Reconciler.db, s.since, check); err != nil {
		return err
	}
	for k := range s.wrong {
		if seen[k] {
			continue
		}
		if err := check(k.Org, []models.BudgetID{k.ID}); err != nil {
			return err
		}
	}
	s.report()
	if failed == nil {
		s.since = max(began-selfCheckSlack, 0)
	}
	return failed
}

func (s *SelfCheck) report() {
	n := 0
	for _, count := range s.wrong {
		n += count
	}
	s.cfg.Meter.BudgetDifferences(n)
}

func (s *SelfCheck) check(ctx context.Context, org models.OrgID, ids []models.BudgetID) error {
	list, err := s.cfg.Reconciler.some(ctx, org, ids, s.known)
	if err != nil {
		return err
	}
	for _, id := range ids {
		delete(s.wrong, BudgetKey{org, id})
	}
	for i := range list {
		c := &list[i]
		if c.Count() == 0 {
			continue
		}
		s.wrong[BudgetKey{org, c.Budget}] = c.Count()
		for _, d := range c.Differences {
			s.cfg.Logger.Error("a budget differs from its ledger; run `ostler admin reconcile`", "org", org, "budget", c.Budget,
				"column", d.Column, "entry", d.Entry, "stored", d.Stored, "computed", d.Computed)
		}
		if err := s.cfg.Reconciler.recordMismatch(ctx, c); err != nil {
			return err
		}
	}
	s.cfg.Meter.BudgetsChecked(len(list))
	return nil
}

// fingerprint tells one state of being wrong from another: it stays while a budget goes on being used.
func (c *Checked) fingerprint() string {
	parts := make([]string, 0, len(c.Differences)+1)
	for _, d := range c.Differences {
		part := d.Column + " " + d.Gap
		if !d.Entry.IsZero() {
			part += " " + d.Entry.String()
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(append(parts, fmt.Sprint(c.Omitted)), "; ")
}

// recordMismatch records that a budget is wrong, unless the newest entry about it says the same. Processes that find it at the same time
// decide one after the other, under the lock of its row.
func (r *Reconciler) recordMismatch(ctx context.Context, c *Checked) error {
	gaps := c.fingerprint()
	err := r.db.Write(ctx, c.Org, func(tx *gorm.DB) error {
		row, err := rows.Locked(tx, c.Org, c.Budget)
		if err != nil {
			return err
		}
		newest, err := store.First[models.AuditEntry](store.Of(tx, c.Org).
			Where("target_id = ? AND action IN ?", c.Budget.String(), []string{actionMismatch, actionReconciled}).Order("position DESC"))
		if err != nil {
			return err
		}
		if newest != nil && newest.Action == actionMismatch {
			var said struct {
				Gaps string `json:"gaps"`
			}
			if json.Unmarshal([]byte(newest.Details), &said) == nil && said.Gaps == gaps {
				return nil
			}
		}
		differences := make([]string, len(c.Differences))
		for i, d := range c.Differences {
			differences[i] = d.String()
		}
		return audit.Record(ctx, tx, r.now(&row), audit.Entry{
			Org: c.Org, ActorKind: models.ActorSystem, Action: actionMismatch, Target: c.Budget.String(),
			Details: map[string]any{"differences": differences, "omitted": c.Omitted, "gaps": gaps},
		})
	})
	if err != nil {
		return fmt.Errorf("record that %s is wrong: %w", c.Budget, err)
	}
	return nil
}
