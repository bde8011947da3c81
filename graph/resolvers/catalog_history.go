package resolvers

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const revisionKind = "rev"

// revisionCursor returns the cursor of a revision in the history of its owner.
func revisionCursor(number int) string {
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], uint32(number)) //nolint:gosec // G115: numbers are positive Ints of GraphQL
	return encodeCursor(revisionKind, key[:])
}

// decodeRevisionCursor reads a cursor of revisionCursor.
func decodeRevisionCursor(cursor string) (int, *fault.Error) {
	key, err := decodeCursor(revisionKind, cursor, 4)
	if err != nil {
		return 0, err
	}
	number := binary.BigEndian.Uint32(key)
	if number > math.MaxInt32 {
		return 0, fault.New(fault.Invalid, "The cursor does not belong to this list.")
	}
	return int(number), nil
}

// historyOf reads a page and one revision more: it reports whether there are others, and what the last one of the page changed.
func historyOf[K comparable](
	ctx context.Context, r *Resolver, id K, first *int, after *string, firsts *firstPages[K, catalog.Revision],
	read func(ctx context.Context, org models.OrgID, id K, before, limit int) ([]catalog.Revision, error),
) (*model.RevisionConnection, error) {
	w, err := newWindow(pageArgs{First: first, After: after}, 20, decodeRevisionCursor)
	if err != nil {
		return nil, err
	}
	l := r.loadersOf(ctx)
	var rows []catalog.Revision
	if w.After != nil {
		rows, err = read(ctx, auth.FromContext(ctx).OrgID, id, *w.After, w.Limit+1)
		for i := range rows {
			l.expectActor(rows[i].ActorKind, rows[i].ActorID)
		}
	} else {
		rows, _, err = firsts.page(w.Limit+1, func(rev *catalog.Revision) { l.expectActor(rev.ActorKind, rev.ActorID) }).load(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	cursor := func(rev *catalog.Revision) string { return revisionCursor(rev.Number) }
	page := connection(rows, w, cursor, encodeRevision, func() (int, error) { return firsts.count(ctx, id) })
	for i := range page.Nodes {
		if i+1 < len(rows) {
			page.Nodes[i].Before = rows[i+1].Snapshot
		}
	}
	return page, nil
}

func encodeRevision(rev *catalog.Revision) *model.Revision {
	return &model.Revision{
		Number: rev.Number, Reason: rev.Reason, Snapshot: rev.Snapshot, CreatedAt: rev.CreatedAt,
		ActorKind: rev.ActorKind, ActorID: rev.ActorID,
	}
}

// encodeChanges shows what differs from the revision before; nothing for the first one that is kept.
func encodeChanges(rev *model.Revision) ([]*model.FieldChange, error) {
	list := []*model.FieldChange{}
	if rev.Before == nil {
		return list, nil
	}
	changes, err := catalog.Differences(rev.Before, rev.Snapshot)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		list = append(list, &model.FieldChange{Field: c.Field, Before: c.Before, After: c.After})
	}
	return list, nil
}
