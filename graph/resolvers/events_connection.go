package resolvers

import (
	"context"
	"errors"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// sessionLog returns a page of a session's log.
func (r *Resolver) sessionLog(ctx context.Context, session *model.Session, args pageArgs, kinds []model.EventKind) (*model.EventConnection, error) {
	w, err := newWindow(args, 50, decodeLogCursor)
	if err != nil {
		return nil, err
	}
	var rows []models.Event
	// No kinds at all is not the same as no filter.
	if kinds == nil || len(kinds) > 0 {
		q := events.PageQuery{Base: int64(session.ForkedThrough), After: w.After, Before: w.Before, Limit: w.Limit + 1, Backward: w.Backward}
		q.Kinds = distinct[models.EventKind](kinds)
		if rows, err = r.Log.Page(ctx, auth.FromContext(ctx).OrgID, session.SessionID, q); err != nil {
			return nil, err
		}
	}
	rows, info := trim(rows, w, rowCursor)
	page := &model.EventConnection{Edges: make([]*model.EventEdge, 0, len(rows)), Nodes: make([]model.Event, 0, len(rows)), PageInfo: info}
	for _, row := range rows {
		ev, err := encodeEvent(events.NewItem(row))
		if errors.Is(err, events.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, err
		}
		page.Nodes = append(page.Nodes, ev)
		page.Edges = append(page.Edges, &model.EventEdge{Cursor: rowCursor(&row), Node: ev})
	}
	return page, nil
}

// rowCursor is eventCursor for a durable event.
func rowCursor(e *models.Event) string { return eventCursor(e, events.MarkOf(e)) }
