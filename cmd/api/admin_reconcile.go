package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// reconcileOrgPage is how many organizations are listed at once.
	reconcileOrgPage = 500
	// reconcileDays is for how many days sums of usage are compared unless --days says otherwise, and mostReconcileDays how many it may say.
	reconcileDays, mostReconcileDays = 2, 3660
)

// reconcile compares budgets with their ledgers, and sums of usage with the journal. It prints a line for each difference, and fails when
// one is left. Without --repair it only reads, so that it may run beside a server, also with SQLite.
func reconcile(ctx context.Context, p place, args []string) error {
	flags := flag.NewFlagSet("reconcile", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	org := flags.String("org", "", "")
	repair := flags.Bool("repair", false, "")
	days := flags.Int("days", reconcileDays, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *days < 0 || *days > mostReconcileDays {
		return errAdminUsage
	}
	r := reconciliation{
		reconciler: books.NewReconciler(p.db, p.clock), db: p.db, clock: p.clock, out: p.out,
		repair: *repair, days: *days,
	}
	if *org == "" {
		return r.all(ctx)
	}
	one, err := orgs.Named(ctx, p.db, *org)
	if err != nil {
		return err
	}
	if one == nil {
		return fmt.Errorf("there is no organization with the slug or id %q", *org)
	}
	if err := r.check(ctx, *one); err != nil {
		return err
	}
	return r.result()
}

// reconciliation is what was found so far.
type reconciliation struct {
	reconciler *books.Reconciler
	db         *store.DB
	clock      clock.Clock
	out        io.Writer
	repair     bool
	days       int

	checked, orgs, differences, left int
	hours, usageDifferences          int
	postings                         int64
}

func (r *reconciliation) all(ctx context.Context) error {
	var after models.OrgID
	for {
		list, err := orgs.Page(ctx, r.db, after, reconcileOrgPage)
		if err != nil {
			return err
		}
		for _, org := range list {
			if err := r.check(ctx, org); err != nil {
				return err
			}
		}
		if len(list) < reconcileOrgPage {
			return r.result()
		}
		after = list[len(list)-1].ID
	}
}

func (r *reconciliation) check(ctx context.Context, org models.Org) error {
	r.orgs++
	err := r.reconciler.Org(ctx, org.ID, func(c books.Checked) error {
		r.checked++
		r.postings += c.Postings
		if c.Count() == 0 {
			return nil
		}
		if r.repair {
			var err error
			if c, err = r.reconciler.Repair(ctx, org.ID, c.Budget); err != nil {
				return err
			}
		}
		r.differences += c.Count()
		r.left += c.Left()
		return r.show(org, &c)
	})
	if err != nil || r.days == 0 {
		return err
	}
	since := models.MillisOf(r.clock.Now().Add(-time.Duration(r.days) * 24 * time.Hour))
	hours, err := r.reconciler.Usage(ctx, org.ID, since, func(d books.UsageDifference) error {
		r.usageDifferences++
		_, err := fmt.Fprintf(r.out, "%s %s\n", org.Slug, d)
		return err
	})
	r.hours += hours
	return err
}

func (r *reconciliation) show(org models.Org, c *books.Checked) error {
	for _, d := range c.Differences {
		end := ""
		switch {
		case c.Repaired && d.Entry.IsZero():
			end = " (repaired)"
		case r.repair && !d.Entry.IsZero():
			end = " (postings can't be changed: see docs/operating.md)"
		}
		if _, err := fmt.Fprintf(r.out, "%s %s %s%s\n", org.Slug, c.Budget, d, end); err != nil {
			return err
		}
	}
	if c.Omitted > 0 {
		_, err := fmt.Fprintf(r.out, "%s %s %d more postings are wrong\n", org.Slug, c.Budget, c.Omitted)
		return err
	}
	return nil
}

func (r *reconciliation) result() error {
	_, err := fmt.Fprintf(r.out, "checked %d budgets of %d organizations: %d differences\n", r.checked, r.orgs, r.differences)
	if err == nil && r.days > 0 {
		_, err = fmt.Fprintf(r.out, "checked %d hours of usage of %d organizations: %d differences\n", r.hours, r.orgs, r.usageDifferences)
	}
	switch {
	case err != nil:
		return err
	case r.left > 0 && r.usageDifferences > 0:
		return fmt.Errorf("%d differences of budgets and %d of usage", r.left, r.usageDifferences)
	case r.left > 0:
		return fmt.Errorf("%d differences of budgets", r.left)
	case r.usageDifferences > 0:
		return fmt.Errorf("%d differences of usage", r.usageDifferences)
	}
	return nil
}
