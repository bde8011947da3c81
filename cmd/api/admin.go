package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/store"
)

const adminUsage = `usage: ostler admin <command>

  reset-password --email=ADDRESS           print a link that sets a new password
  unlink-identity --email=ADDRESS          unlink a user from OpenID Connect issuers and sign them out
  operator add|remove --email=ADDRESS      make a user an operator of the platform, or no longer one
  limits SLUG|ID [NAME=NUMBER|default …]   show the limits of an organization, or change some, e.g. sessions=1000
                                           environmentKeys=yes lets it use the provider keys of the environment
  rotate-signing-key                       make a new key for access tokens now
  verify-audit [--org=SLUG|ID]             check the audit log of all organizations, or of one
  reconcile [--org=SLUG|ID] [--repair] [--days=N]
                                           compare budgets with their ledgers, and usage totals with usage records`

var errAdminUsage = errors.New("unknown command or flag\n" + adminUsage)

// place is what a command works on, beside servers that may be running.
type place struct {
	cfg   config
	db    *store.DB
	clock clock.Clock
	out   io.Writer
}

// command is one that works on the database.
type command func(ctx context.Context, p place, args []string) error

// adminCommand returns the command with a name; nil when there is none.
func adminCommand(name string) command {
	switch name {
	case "reset-password":
		return resetPassword
	case "unlink-identity":
		return unlinkIdentity
	case "operator":
		return operator
	case "limits":
		return orgLimits
	case "rotate-signing-key":
		return rotateSigningKey
	case "verify-audit":
		return verifyAudit
	case "reconcile":
		return reconcile
	}
	return nil
}

func admin(ctx context.Context, cfg config, log *slog.Logger, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errAdminUsage
	}
	do := adminCommand(args[0])
	if do == nil {
		return errAdminUsage
	}
	return atPlace(ctx, cfg, log, out, do, args[1:])
}

// atPlace runs a command on the database of a server. It takes no lock: the server may be running, with SQLite as well.
func atPlace(ctx context.Context, cfg config, log *slog.Logger, out io.Writer, do command, args []string) error {
	if path, ok := strings.CutPrefix(cfg.databaseURL, "sqlite:"); ok {
		// Opening it would make an empty one.
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("there is no database here; set OSTLER_DATA_DIR or OSTLER_DATABASE_URL as for the server: %w", err)
		}
	}
	var undo closers
	defer undo.run()
	db, err := store.Open(ctx, store.Config{
		URL: cfg.databaseURL, SQLiteSynchronous: cfg.sqliteSynchronous, MaxConns: 2, RowSecurity: cfg.rowSecurity,
	})
	if err != nil {
		return err
	}
	undo.add(func() { _ = db.Close() })
	clk, err := openClock(ctx, db, log, &undo)
	if err != nil {
		return err
	}
	return do(ctx, place{cfg: cfg, db: db, clock: clk, out: out}, args)
}

// flagEmail reads the one flag --email.
func flagEmail(args []string) (string, error) {
	flags := flag.NewFlagSet("admin", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	email := flags.String("email", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *email == "" {
		return "", errAdminUsage
	}
	return *email, nil
}
