// Package audit records who did what in an organization: in the transaction of what it records, in a chain per organization whose
// entries hash those before them, so that one which was removed or edited later shows.
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Platform is the chain of what belongs to no organization, e.g. sign-ins with an unknown e-mail. No organization has this id.
var Platform = models.OrgID{15: 1} //nolint:gochecknoglobals // a constant, but arrays can't be

// Entry is what somebody did.
type Entry struct {
	Org models.OrgID
	// ActorKind and Actor tell who did it; Actor is zero for the system.
	ActorKind models.ActorKind
	Actor     models.ActorID
	// Action is what was done, as "thing.deed", e.g. "member.removed".
	Action string
	// Target is the id of what it was done to, in its outside form; empty for none.
	Target string
	// Details become a JSON object: what was before and after, never a secret. nil for none.
	Details map[string]any
}

// Record appends an entry to the chain of its organization. It must be the last thing that a transaction does, as it locks the end of
// the chain until the transaction ends. Address and request id come from the context's auth.RequestInfo.
func Record(ctx context.Context, tx *gorm.DB, at models.Millis, e Entry) error {
	row, err := Draft(auth.RequestFrom(ctx), e)
	if err != nil {
		return err
	}
	row.CreatedAt = at
	head, err := lockHead(tx, e.Org)
	if err != nil {
		return err
	}
	head = Follow(head, &row)
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("write an audit entry: %w", err)
	}
	err = store.OneRow(store.Of(tx.Model(&models.AuditHead{}), e.Org).
		Updates(map[string]any{"position": head.Position, "hash": head.Hash}))
	if err != nil {
		return fmt.Errorf("move the end of an audit chain: %w", err)
	}
	return nil
}

// RecordBy is Record for what a principal did in its organization.
func RecordBy(ctx context.Context, tx *gorm.DB, at models.Millis, by *auth.Principal, action, target string, details map[string]any) error {
	kind, actor := by.Actor()
	return Record(ctx, tx, at, Entry{Org: by.OrgID, ActorKind: kind, Actor: actor, Action: action, Target: target, Details: details})
}

// Draft returns the row of an entry, without its time and its place in the chain. from is the request that asked for the deed; nil for none.
func Draft(from *auth.RequestInfo, e Entry) (models.AuditEntry, error) {
	details := []byte("{}")
	if len(e.Details) > 0 {
		var err error
		if details, err = json.Marshal(e.Details); err != nil {
			return models.AuditEntry{}, fmt.Errorf("write the details of %s: %w", e.Action, err)
		}
	}
	row := models.AuditEntry{
		OrgID: e.Org, ID: models.NewID[models.AuditEntryEntity](), ActorKind: e.ActorKind, ActorID: e.Actor.Ptr(), Action: e.Action,
		TargetID: e.Target, Details: string(details),
	}
	if from != nil {
		row.Address, row.RequestID = from.Address, from.ID
	}
	return row, nil
}

// Follow puts a row behind the end of its chain, and returns the new end. Whoever writes the two must hold the lock of the end.
func Follow(head models.AuditHead, row *models.AuditEntry) models.AuditHead {
	row.Position, row.PrevHash = head.Position+1, head.Hash
	row.Hash = hashOf(*row)
	return models.AuditHead{OrgID: head.OrgID, Position: row.Position, Hash: row.Hash}
}

// NewHead is the end of a chain that has no entries yet.
func NewHead(org models.OrgID) models.AuditHead {
	return models.AuditHead{OrgID: org, Hash: make([]byte, sha256.Size)}
}

// RecordAll is Record for several entries. Those of one organization keep their order; the organizations follow each other in the order of
// their ids, so that no two transactions can wait for each other's chains.
func RecordAll(ctx context.Context, tx *gorm.DB, at models.Millis, entries ...Entry) error {
	slices.SortStableFunc(entries, func(a, b Entry) int { return bytes.Compare(a.Org[:], b.Org[:]) })
	for _, e := range entries {
		if err := Record(ctx, tx, at, e); err != nil {
			return err
		}
	}
	return nil
}

// lockHead returns the end of a chain, which it begins when there is none.
func lockHead(tx *gorm.DB, org models.OrgID) (models.AuditHead, error) {
	for range 2 {
		var found []models.AuditHead
		locked := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"})
		if err := store.Of(locked, org).Limit(1).Find(&found).Error; err != nil {
			return models.AuditHead{}, fmt.Errorf("lock the end of an audit chain: %w", err)
		}
		if len(found) == 1 {
			return found[0], nil
		}
		first := NewHead(org)
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&first).Error; err != nil {
			return models.AuditHead{}, fmt.Errorf("begin an audit chain: %w", err)
		}
	}
	return models.AuditHead{}, fmt.Errorf("the audit chain of %s can't be begun", org)
}

// hashOf returns the hash of an entry: SHA-256 of the hash before it and of its columns as one JSON array, in which no two different
// entries look alike.
func hashOf(e models.AuditEntry) []byte {
	var actor string
	if e.ActorID != nil {
		actor = e.ActorID.String()
	}
	columns, err := json.Marshal([]any{
		e.OrgID.String(), e.Position, e.ID.String(), e.ActorKind, actor, e.Action, e.TargetID, e.Address, e.RequestID, e.Details, e.CreatedAt,
	})
	if err != nil {
		panic(err) // strings and numbers can't fail to be written
	}
	h := sha256.New()
	h.Write(e.PrevHash)
	h.Write(columns)
	return h.Sum(nil)
}
