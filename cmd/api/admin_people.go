package main

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/orgs"
)

func resetPassword(ctx context.Context, p place, args []string) error {
	email, err := flagEmail(args)
	if err != nil {
		return err
	}
	link, err := orgs.NewAdmin(p.db, p.clock, p.cfg.publicURL).ResetLink(ctx, email)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s\nIt works once, until %s.\n", link, p.clock.Now().Add(orgs.ResetLifetime).UTC().Format("15:04:05 MST"))
	return err
}

func operator(ctx context.Context, p place, args []string) error {
	if len(args) == 0 || (args[0] != "add" && args[0] != "remove") {
		return errAdminUsage
	}
	email, err := flagEmail(args[1:])
	if err != nil {
		return err
	}
	changed, err := orgs.NewAdmin(p.db, p.clock, p.cfg.publicURL).SetOperator(ctx, email, args[0] == "add")
	if err != nil {
		return err
	}
	text := map[bool]string{true: "is an operator now", false: "is no longer an operator"}[args[0] == "add"]
	if !changed {
		text += ", as before"
	}
	_, err = fmt.Fprintf(p.out, "%s %s\n", email, text)
	return err
}
