package orgs

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
)

// WaitMail reports whether the caller gets mail about what waits for them in the organization; nil where nobody does, and for a key.
func (s *Service) WaitMail(ctx context.Context, p *auth.Principal) (*bool, error) {
	if !s.waitMail || p.IsKey() {
		return nil, nil
	}
	var off int
	err := s.db.QueryRow(ctx, p.OrgID, "SELECT count(*) FROM wait_mails WHERE org_id = ? AND user_id = ? AND off_since IS NOT NULL",
		p.OrgID[:], p.UserID[:]).Scan(&off)
	if err != nil {
		return nil, fmt.Errorf("read whether %s gets mail: %w", p.UserID, err)
	}
	return new(off == 0), nil
}

// SetWaitMail switches the caller's mail about what waits for them on or off. What waited while it was off is not mailed later.
func (s *Service) SetWaitMail(ctx context.Context, p *auth.Principal, on bool) error {
	if err := needPerson(p, "get mail"); err != nil {
		return err
	}
	statement := `INSERT INTO wait_mails (org_id, user_id, told_through, mailed_at, off_since) VALUES (?, ?, 0, 0, ?)
ON CONFLICT (org_id, user_id) DO UPDATE SET off_since = coalesce(wait_mails.off_since, excluded.off_since)`
	args := []any{p.OrgID[:], p.UserID[:], int64(clock.Millis(s.clock))}
	if on {
		statement = `UPDATE wait_mails SET told_through = ?, off_since = NULL WHERE org_id = ? AND user_id = ? AND off_since IS NOT NULL`
		args = []any{int64(clock.Millis(s.clock)), p.OrgID[:], p.UserID[:]}
	}
	if _, err := s.db.Exec(ctx, p.OrgID, statement, args...); err != nil {
		return fmt.Errorf("switch the mail to %s: %w", p.UserID, err)
	}
	return nil
}
