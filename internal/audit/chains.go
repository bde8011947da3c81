package audit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// sweepInterval is how often old entries are looked for, and removeBatch how many one transaction removes at most.
	sweepInterval = 10 * time.Minute
	removeBatch   = 1000
	// chainBatch is how many chains of audit entries are looked up at once.
	chainBatch = 500
)

// Chain is the chain of audit entries of an organization. Slug is empty where there is no organization (any more).
type Chain struct {
	OrgID models.OrgID
	Slug  string
}

const auditChains = `SELECT c.org_id, coalesce(o.slug, '') AS slug FROM (SELECT id AS org_id FROM orgs UNION SELECT org_id FROM audit_heads) c
LEFT JOIN orgs o ON o.id = c.org_id WHERE `

// Chains returns the chains of all organizations and those that belong to none, by their ids: at most limit of those after one.
func Chains(ctx context.Context, db *store.DB, after models.OrgID, limit int) ([]Chain, error) {
	where, args := "1 = 1", []any{limit}
	if !after.IsZero() {
		where, args = "c.org_id > ?", []any{after, limit}
	}
	return scanChains(ctx, db, auditChains+where+" ORDER BY c.org_id LIMIT ?", args...)
}

// ChainOf returns the chain of the organization with a slug or an id; nil when there is none.
func ChainOf(ctx context.Context, db *store.DB, slugOrID string) (*Chain, error) {
	where, arg := "o.slug = ?", any(slugOrID)
	if id, err := models.ParseID[models.OrgEntity](slugOrID); err == nil {
		where, arg = "c.org_id = ?", id
	}
	list, err := scanChains(ctx, db, auditChains+where, arg)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func scanChains(ctx context.Context, db *store.DB, query string, args ...any) ([]Chain, error) {
	var list []Chain
	if err := store.CrossOrg(db.ReadAcross(ctx)).Raw(query, args...).Scan(&list).Error; err != nil {
		return nil, fmt.Errorf("list the audit chains: %w", err)
	}
	return list, nil
}

// oldChains returns chains whose first entry is older than before, by their ids: at most chainBatch of those after one.
func oldChains(ctx context.Context, db *store.DB, before models.Millis, after models.OrgID) ([]models.OrgID, error) {
	query := `SELECT h.org_id FROM audit_heads h
WHERE (SELECT e.created_at FROM audit_entries e WHERE e.org_id = h.org_id ORDER BY e.position LIMIT 1) < ?`
	args := []any{int64(before)}
	if !after.IsZero() {
		query, args = query+" AND h.org_id > ?", append(args, after)
	}
	var list []models.OrgID
	err := store.CrossOrg(db.ReadAcross(ctx)).Raw(query+" ORDER BY h.org_id LIMIT ?", append(args, chainBatch)...).Scan(&list).Error
	if err != nil {
		return nil, fmt.Errorf("look for old audit entries: %w", err)
	}
	return list, nil
}

// RetentionConfig is what the retention of audit entries needs.
type RetentionConfig struct {
	DB     *store.DB
	Log    *Log
	Clock  clock.Clock
	Logger *slog.Logger
	// Keep is how long entries are kept; 0 is forever.
	Keep time.Duration
	// Ticks tells when to look; every ten minutes when it is nil.
	Ticks <-chan time.Time
}

// NewRetention returns the job that removes audit entries past their time. Stopped in the middle of a chain, it removes the rest the next time.
func NewRetention(cfg RetentionConfig) *background.Job {
	return background.Every(cfg.Logger, "remove old audit entries", sweepInterval, func(ctx context.Context) error {
		_, err := Sweep(ctx, cfg)
		return err
	}, background.Ticks(cfg.Ticks))
}

// Sweep removes the audit entries that are past their time from all chains, and returns how many. Several processes may do so at
// once. A chain that is broken is left as it is and logged as an error: what shows that somebody edited it must not go.
func Sweep(ctx context.Context, cfg RetentionConfig) (int64, error) {
	if err := signAgain(ctx, cfg); err != nil || cfg.Keep <= 0 {
		return 0, err
	}
	now := cfg.Clock.Now()
	before := models.MillisOf(now.Add(-cfg.Keep))
	var total int64
	var after models.OrgID
	for {
		chains, err := oldChains(ctx, cfg.DB, before, after)
		if err != nil {
			return total, err
		}
		for _, org := range chains {
			n, err := shorten(ctx, cfg, org, models.MillisOf(now), before)
			total += n
			if err != nil {
				return total, err
			}
		}
		if len(chains) < chainBatch {
			return total, nil
		}
		after = chains[len(chains)-1]
	}
}

func shorten(ctx context.Context, cfg RetentionConfig, org models.OrgID, now, before models.Millis) (int64, error) {
	var total int64
	for {
		done, err := cfg.Log.Remove(ctx, org, now, before, removeBatch)
		total += done.Entries
		if err != nil {
			return total, err
		}
		if c := done.Refused; c != nil {
			cfg.Logger.Error("an audit chain is broken, and its old entries are kept; see `ostler admin verify-audit`",
				"org", org, "position", *c.BrokenAt, "problem", c.Problem)
		}
		if !done.More {
			return total, nil
		}
	}
}

// signAgain signs the anchors that were signed under an earlier master key, so that it can be taken out of the configuration.
func signAgain(ctx context.Context, cfg RetentionConfig) error {
	for _, key := range cfg.Log.EarlierKeys() {
		var after models.OrgID
		for {
			q := store.CrossOrg(cfg.DB.ReadAcross(ctx)).Model(&models.AuditAnchor{}).Where("key_id = ?", key)
			if !after.IsZero() {
				q = q.Where("org_id > ?", after)
			}
			var list []models.OrgID
			if err := q.Order("org_id").Limit(chainBatch).Pluck("org_id", &list).Error; err != nil {
				return fmt.Errorf("look for audit anchors of an earlier master key: %w", err)
			}
			for _, org := range list {
				if err := cfg.Log.SignAgain(ctx, org); err != nil {
					return fmt.Errorf("sign the audit anchor of %s again: %w", org, err)
				}
			}
			if len(list) < chainBatch {
				break
			}
			after = list[len(list)-1]
		}
	}
	return nil
}
