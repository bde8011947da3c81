package resolvers

import (
	"context"
	"encoding/binary"
	"encoding/hex"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	auditKind = "audit"
	// auditCheckLimit is how many entries a check looks at, so that it takes no longer however long the chain is.
	auditCheckLimit = 10_000
)

// auditCursor returns the cursor of an entry in the list of its organization.
func auditCursor(position int64) string {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(position)) //nolint:gosec // G115: the bits come back as they went
	return encodeCursor(auditKind, key[:])
}

// decodeAuditCursor reads a cursor of auditCursor.
func decodeAuditCursor(cursor string) (int64, *fault.Error) {
	key, err := decodeCursor(auditKind, cursor, 8)
	if err != nil {
		return 0, err
	}
	position := int64(binary.BigEndian.Uint64(key)) //nolint:gosec // G115: the bits come back as they went
	if position < 1 {
		return 0, fault.New(fault.Invalid, "The cursor does not belong to this list.")
	}
	return position, nil
}

func (r *Resolver) auditEntryByID(ctx context.Context, id models.AuditEntryID) (*model.AuditEntry, error) {
	e, err := r.Audit.Entry(ctx, auth.FromContext(ctx).OrgID, id)
	return encoded(e, err, encodeAuditEntry)
}

// decodeAuditFilter takes over a filter.
func decodeAuditFilter(in *model.AuditFilter) (audit.Filter, error) {
	if in == nil {
		return audit.Filter{}, nil
	}
	f := audit.Filter{Action: in.Action, Target: in.TargetID, From: in.From, To: in.To}
	if err := f.Check(); err != nil {
		return f, err.At(append([]string{"filter"}, err.Path...)...)
	}
	if in.ActorID != nil {
		kind, id := audit.ActorOf(*in.ActorID)
		f.ActorKind, f.Actor = kind, &id
	}
	return f, nil
}

func encodeAuditEntry(e *models.AuditEntry) *model.AuditEntry {
	return &model.AuditEntry{
		ID: e.ID.String(), Position: e.Position, Action: e.Action, TargetID: nonEmpty(e.TargetID), Address: nonEmpty(e.Address),
		RequestID: nonEmpty(e.RequestID), Details: models.JSON(e.Details), Hash: hex.EncodeToString(e.Hash), CreatedAt: e.CreatedAt,
		ActorKind: e.ActorKind, ActorID: e.ActorID,
	}
}
