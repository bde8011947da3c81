package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/secrets"
)

func rotateSigningKey(ctx context.Context, p place, args []string) error {
	if len(args) > 0 {
		return errAdminUsage
	}
	if p.cfg.jwtSecret != nil {
		return errors.New("tokens are signed with OSTLER_JWT_SECRET: there are no keys to rotate; change the secret instead")
	}
	keeper, err := openKeeper(ctx, p.cfg, p.db, p.clock)
	if err != nil {
		return err
	}
	keys, err := auth.OpenKeys(ctx, p.db, keeper.SigningKeys(), p.clock)
	if err != nil {
		return err
	}
	done, err := keys.RotateNow(ctx, orgs.RecordKey)
	if err != nil {
		return err
	}
	text := "created a new key"
	if !done.Made {
		text = "there is already a new key"
	}
	_, err = fmt.Fprintf(p.out, "%s: %s signs tokens from %s, when all nodes have loaded it\n", text, done.KeyID, done.SignsAt.UTC().Format(time.RFC3339))
	return err
}

// rotateKeys wraps everything that is sealed by the current master key.
func rotateKeys(ctx context.Context, p place, args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	keeper, err := openKeeper(ctx, p.cfg, p.db, p.clock)
	if err != nil {
		return err
	}
	n, err := secrets.Rewrap(ctx, p.db, keeper, func(int) {})
	if err != nil {
		return fmt.Errorf("%w (%d values were sealed again before; run the command again)", err, n)
	}
	_, err = fmt.Fprintf(p.out, "%d values were sealed again; all are under master key %s, and OSTLER_MASTER_KEY_PREVIOUS is no longer needed\n", n, keeper.KeyID())
	return err
}
