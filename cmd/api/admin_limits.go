package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/orgs"
)

// noYes is how permissions among the limits are written.
var noYes = [...]string{"no", "yes"}

// orgLimits changes limits of an organization, and prints what they are then. Servers follow within seconds.
func orgLimits(ctx context.Context, p place, args []string) error {
	if len(args) == 0 {
		return errAdminUsage
	}
	change, err := readLimits(args[1:])
	if err != nil {
		return err
	}
	org, row, err := orgs.NewAdmin(p.db, p.clock, p.cfg.publicURL).SetLimits(ctx, args[0], change)
	if err != nil {
		return err
	}
	values := limits.New(limits.Config{Usual: p.cfg.limits, Clock: p.clock}).With(row)
	_, _ = fmt.Fprintf(p.out, "%s (%s):\n", org.Slug, org.ID)
	for _, n := range limits.Names() {
		value := *n.Value(&values)
		shown := strconv.Itoa(value)
		switch {
		case n.Permission():
			shown = noYes[value]
		case value == 0:
			shown = "any number"
		}
		if *n.Own(&row) == nil {
			shown += "  (default)"
		}
		_, _ = fmt.Fprintf(p.out, "  %s=%s\n", n.Name, shown)
	}
	return nil
}

// readLimits reads name=number, or yes or no of a permission; "default" puts back what is configured.
func readLimits(args []string) (orgs.LimitsChange, error) {
	names := limits.Names()
	change := orgs.LimitsChange{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		at := slices.IndexFunc(names, func(n limits.Name) bool { return n.Name == name })
		if !ok || at < 0 {
			var known []string
			for _, n := range names {
				known = append(known, n.Name)
			}
			return nil, fmt.Errorf("%q is not a limit: want NAME=NUMBER, where NAME is one of %s", arg, strings.Join(known, ", "))
		}
		if value == "default" {
			change[name] = catalog.Give[*int](nil)
			continue
		}
		if names[at].Permission() {
			n := slices.Index(noYes[:], value)
			if n < 0 {
				return nil, fmt.Errorf("%s: %q is not yes, no or \"default\"", name, value)
			}
			change[name] = catalog.Give(&n)
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is neither a whole number nor \"default\"", name, value)
		}
		change[name] = catalog.Give(&n)
	}
	return change, nil
}
