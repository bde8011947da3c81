package waitmail

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Settings is how people switch their mail about what waits for them on and off.
type Settings struct {
	db    *store.DB
	clock clock.Clock
	after time.Duration
}

// NewSettings takes after how long a wait is mailed; 0 where no such mail is sent.
func NewSettings(db *store.DB, clk clock.Clock, after time.Duration) *Settings {
	return &Settings{db: db, clock: clk, after: after}
}

// Enabled reports whether the caller gets mail about what waits for them in the organization; nil where nobody does, for a key, and for those for
// whom nothing can wait.
func (s *Settings) Enabled(ctx context.Context, p *auth.Principal) (*bool, error) {
	if s.after == 0 || p.IsKey() || !mayResolveAny(p) {
		return nil, nil
	}
	var off int64
	err := store.Of(s.db.Read(ctx, p.OrgID), p.OrgID).Model(&models.WaitMail{}).Where("user_id = ? AND off_since IS NOT NULL", p.UserID).Count(&off).Error
	if err != nil {
		return nil, fmt.Errorf("read whether %s gets mail: %w", p.UserID, err)
	}
	return new(off == 0), nil
}

// Set switches the caller's mail on or off. What was due while it was off is not mailed later.
func (s *Settings) Set(ctx context.Context, p *auth.Principal, on bool) error {
	if p.IsKey() {
		return fault.New(fault.Forbidden, "An API key can't get mail: only a signed-in person can.")
	}
	now := clock.Millis(s.clock)
	statement := `INSERT INTO wait_mails (org_id, user_id, told_through, mailed_at, off_since) VALUES (?, ?, 0, 0, ?)
ON CONFLICT (org_id, user_id) DO UPDATE SET off_since = coalesce(wait_mails.off_since, excluded.off_since)`
	args := []any{p.OrgID[:], p.UserID[:], int64(now)}
	if on {
		statement = `UPDATE wait_mails SET told_through = ?, off_since = NULL WHERE org_id = ? AND user_id = ? AND off_since IS NOT NULL`
		args = []any{int64(now - millis(s.after)), p.OrgID[:], p.UserID[:]}
	}
	if _, err := s.db.Exec(ctx, p.OrgID, statement, args...); err != nil {
		return fmt.Errorf("switch the mail to %s: %w", p.UserID, err)
	}
	return nil
}
