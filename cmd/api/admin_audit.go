package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// auditChainPage is how many chains are listed at once.
const auditChainPage = 500

// verifyAudit checks the chains of audit entries, prints a line for each, and fails when one is broken. It only reads, so that it may
// run beside a server, also with SQLite.
func verifyAudit(ctx context.Context, p place, args []string) error {
	flags := flag.NewFlagSet("verify-audit", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	org := flags.String("org", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errAdminUsage
	}
	keeper, err := openKeeper(ctx, p.cfg, p.db, p.clock)
	if err != nil {
		return err
	}
	log, err := audit.NewLog(p.db, keeper)
	if err != nil {
		return err
	}
	v := verification{db: p.db, log: log, out: p.out}
	if *org != "" {
		return v.one(ctx, *org)
	}
	return v.all(ctx)
}

type verification struct {
	db  *store.DB
	log *audit.Log
	out io.Writer
	// chains are those that were checked, and broken those of them that are.
	chains, broken int
}

func (v *verification) one(ctx context.Context, slugOrID string) error {
	chain, err := audit.ChainOf(ctx, v.db, slugOrID)
	if err != nil {
		return err
	}
	if chain == nil {
		return fmt.Errorf("there is no organization with the slug or id %q", slugOrID)
	}
	if err := v.check(ctx, *chain); err != nil {
		return err
	}
	return v.result()
}

func (v *verification) all(ctx context.Context) error {
	var after models.OrgID
	for {
		list, err := audit.Chains(ctx, v.db, after, auditChainPage)
		if err != nil {
			return err
		}
		for _, chain := range list {
			if err := v.check(ctx, chain); err != nil {
				return err
			}
		}
		if len(list) < auditChainPage {
			return v.result()
		}
		after = list[len(list)-1].OrgID
	}
}

func (v *verification) check(ctx context.Context, chain audit.Chain) error {
	c, err := v.log.Verify(ctx, chain.OrgID, 0)
	if err != nil {
		return err
	}
	name := chain.Slug
	switch {
	case chain.OrgID == audit.Platform:
		name = "(platform)"
	case name == "":
		name = "(no organization)"
	}
	v.chains++
	if c.OK() {
		_, err = fmt.Fprintf(v.out, "%s %s: %d entries from position %d on: OK\n", name, chain.OrgID, c.Entries, c.From)
		return err
	}
	v.broken++
	_, err = fmt.Fprintf(v.out, "%s %s: %d entries from position %d on, then BROKEN at position %d: %s\n",
		name, chain.OrgID, c.Entries, c.From, *c.BrokenAt, c.Problem)
	return err
}

func (v *verification) result() error {
	if v.broken == 0 {
		return nil
	}
	if v.chains == 1 {
		return errors.New("the audit log is broken")
	}
	return fmt.Errorf("the audit logs of %d of %d chains are broken", v.broken, v.chains)
}
