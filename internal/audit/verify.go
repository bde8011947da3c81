package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// verifyPage is how many entries are read at once.
const verifyPage = 1000

// Check is what a verification of a chain found.
type Check struct {
	// From is the position that the check began at. Entries before it were removed by retention, or not asked for.
	From int64
	// Entries is how many entries were found to be right.
	Entries int64
	// BrokenAt is the position of the first entry that is missing, was edited or doesn't fit; nil when all is well.
	BrokenAt *int64
	// Problem says what is wrong there; empty when all is well.
	Problem string
}

// OK reports whether nothing is wrong.
func (c Check) OK() bool { return c.BrokenAt == nil }

func (c *Check) broken(at int64, problem string) { c.BrokenAt, c.Problem = &at, problem }

// Verify walks the chain of an organization from its beginning, or from the anchor that retention has left, to its end: the newest
// entries, or all of them when newest is 0. What is written meanwhile is not looked at.
//
// A chain proves that nobody changed a part of it. Who may write to the database as a whole can write a whole new chain, but for its
// anchor; against that only copies elsewhere help.
func (l *Log) Verify(ctx context.Context, org models.OrgID, newest int64) (Check, error) {
	anchor, err := anchorOf(l.db.Read(ctx, org), org)
	if err != nil {
		return Check{}, err
	}
	for {
		check, err := l.verifyFrom(ctx, org, anchor, newest)
		if err != nil || check.OK() {
			return check, err
		}
		// Retention may have removed entries below the walk: it then has moved the anchor.
		now, err := anchorOf(l.db.Read(ctx, org), org)
		if err != nil {
			return Check{}, err
		}
		if now.Position <= anchor.Position {
			return check, nil
		}
		anchor = now
	}
}

func (l *Log) verifyFrom(ctx context.Context, org models.OrgID, anchor models.AuditAnchor, newest int64) (Check, error) {
	db := l.db.Read(ctx, org)
	check := Check{From: anchor.Position + 1}
	if !l.signed(anchor) {
		check.broken(anchor.Position, "The anchor that retention left here was edited: its signature is wrong, or made under a master key that is not configured.")
		return check, nil
	}
	// The end is read after the last entry: the two are written together, so that it can't be before it.
	last, err := place(store.Of(db, org).Order("position DESC"))
	if err != nil {
		return check, err
	}
	head, err := headOf(db, org)
	if err != nil {
		return check, err
	}
	if last != nil && *last > head.Position {
		check.broken(head.Position+1, "An entry follows the end of the chain.")
		return check, nil
	}
	if head.Position < anchor.Position {
		check.broken(head.Position+1, "The chain ends before the position up to which retention has removed entries.")
		return check, nil
	}
	walk := walk{check: &check, position: anchor.Position, hash: anchor.Hash}
	if newest > 0 && head.Position-newest > anchor.Position {
		check.From = head.Position - newest + 1
		// The hash of the entry before is the one that the first entry says it follows.
		walk.position, walk.hash = check.From-1, nil
	}
	for walk.position < head.Position {
		var page []models.AuditEntry
		err := store.Of(db, org).Where("position > ? AND position <= ?", walk.position, head.Position).
			Order("position").Limit(verifyPage).Find(&page).Error
		if err != nil {
			return check, fmt.Errorf("verify the audit chain of %s: %w", org, err)
		}
		if len(page) == 0 {
			check.broken(walk.position+1, "The entry is missing.")
		}
		if !walk.follow(page) {
			return check, nil
		}
	}
	if !bytes.Equal(walk.hash, head.Hash) {
		check.broken(head.Position, "The end of the chain doesn't fit its last entry.")
	}
	return check, nil
}

// walk is a place in a chain.
type walk struct {
	check    *Check
	position int64
	hash     []byte // nil for one that is not known
}

// follow goes along entries, and returns false at the first one that is wrong.
func (w *walk) follow(page []models.AuditEntry) bool {
	for i := range page {
		e := &page[i]
		switch {
		case e.Position != w.position+1:
			w.check.broken(w.position+1, "The entry is missing.")
		case w.hash != nil && !bytes.Equal(e.PrevHash, w.hash):
			w.check.broken(e.Position, "The entry doesn't follow the one before it.")
		case !bytes.Equal(hashOf(*e), e.Hash):
			w.check.broken(e.Position, "The entry was edited: its hash is not that of what it says.")
		}
		if !w.check.OK() {
			return false
		}
		w.position, w.hash = e.Position, e.Hash
		w.check.Entries++
	}
	return w.check.OK()
}

// headOf returns the end of a chain; the beginning of one that has none yet.
func headOf(db *gorm.DB, org models.OrgID) (models.AuditHead, error) {
	found, err := store.First[models.AuditHead](store.Of(db, org))
	if err != nil {
		return models.AuditHead{}, fmt.Errorf("read the end of an audit chain: %w", err)
	}
	if found == nil {
		return models.AuditHead{OrgID: org, Hash: make([]byte, sha256.Size)}, nil
	}
	return *found, nil
}
