package resolvers

import (
	"context"
	"slices"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func decodeFilter(in *model.SessionFilter) sessions.Filter {
	var f sessions.Filter
	if in == nil {
		return f
	}
	if in.AgentID != nil {
		// What is no id names no agent, and no session has the zero id.
		id, _ := models.ParseID[models.AgentEntity](*in.AgentID)
		f.AgentID = &id
	}
	if in.HarnessID != nil {
		id, _ := models.ParseID[models.HarnessEntity](*in.HarnessID)
		f.HarnessID = &id
	}
	f.Status = distinct[models.SessionStatus](in.Status)
	f.Tag, f.CustomerKey, f.CreatedAfter, f.Search, f.Failed = in.Tag, in.CustomerKey, in.CreatedAfter, in.Search, in.Failed
	return f
}

func (r *Resolver) sessionsBy(ctx context.Context, first *int, after *string, f sessions.Filter) (*model.SessionConnection, error) {
	w, err := idWindow[models.SessionEntity](first, after, 20)
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	rows, err := r.Sessions.List(ctx, org, f, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	return r.sessionConnection(ctx, rows, w, func() (*int, error) { return counted(r.Sessions.Count(ctx, org, f)) }), nil
}

// sessionConnection makes a page of the sessions that were read for a window.
func (r *Resolver) sessionConnection(
	ctx context.Context, rows []models.Session, w window[models.SessionID], count model.Count,
) *model.SessionConnection {
	rows, info := trim(rows, w, func(s models.Session) string { return idCursor(s.ID) })
	page := &model.SessionConnection{
		Edges: make([]*model.SessionEdge, len(rows)), Nodes: make([]*model.Session, len(rows)), PageInfo: info, Count: count,
	}
	expected := r.loadersOf(ctx)
	for i := range rows {
		expected.expectSession(&rows[i])
		page.Nodes[i] = encodeSession(&rows[i])
		page.Edges[i] = &model.SessionEdge{Cursor: idCursor(rows[i].ID), Node: page.Nodes[i]}
	}
	return page
}

func (r *Resolver) messagePage(ctx context.Context, session *model.Session, args pageArgs) (*model.MessageConnection, error) {
	w, err := newWindow(args, 50, decodeSequenceCursor)
	if err != nil {
		return nil, err
	}
	org, id, base := auth.FromContext(ctx).OrgID, session.SessionID, int64(session.ForkedThrough)
	expected := r.loadersOf(ctx)
	var rows []models.Message
	switch ends := base == 0 && w.After == nil && w.Before == nil; {
	case ends && w.Backward:
		rows, _, err = expected.lastMessages.page(w.Limit+1, expected.expectMessage).load(ctx, id)
	case ends:
		rows, _, err = expected.firstMessages.page(w.Limit+1, expected.expectMessage).load(ctx, id)
	default:
		rows, err = r.Sessions.Messages(ctx, org, id, base, w.After, w.Before, w.Backward, w.Limit+1)
	}
	if err != nil {
		return nil, err
	}
	rows = slices.Clone(rows) // trim turns them around, and others may have the same page
	rows, info := trim(rows, w, func(m models.Message) string { return sequenceCursor(m.Sequence) })
	page := &model.MessageConnection{
		Edges: make([]*model.MessageEdge, len(rows)), Nodes: make([]*model.Message, len(rows)), PageInfo: info,
		Count: func() (*int, error) {
			if base > 0 {
				return counted(r.Sessions.CountMessages(ctx, org, id, base))
			}
			n, _, err := expected.firstMessages.counts.load(ctx, id)
			return counted(n, err)
		},
	}
	for i := range rows {
		expected.expectMessage(&rows[i])
		page.Nodes[i] = encodeMessage(rows[i])
		page.Edges[i] = &model.MessageEdge{Cursor: sequenceCursor(rows[i].Sequence), Node: page.Nodes[i]}
	}
	return page, nil
}
