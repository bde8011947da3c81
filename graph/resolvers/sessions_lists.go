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
	f.Tag, f.CustomerKey, f.CreatedAfter, f.Search, f.Failed, f.RatedDown = in.Tag, in.CustomerKey, in.CreatedAfter, in.Search, in.Failed, in.RatedDown
	f.Trial = in.Trial != nil && *in.Trial
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
	return r.sessionConnection(ctx, rows, w, func() (int, error) { return r.Sessions.Count(ctx, org, f) }), nil
}

// sessionConnection makes a page of the sessions that were read for a window.
func (r *Resolver) sessionConnection(
	ctx context.Context, rows []models.Session, w window[models.SessionID], count func() (int, error),
) *model.SessionConnection {
	expected := r.loadersOf(ctx)
	return connection(rows, w, func(s *models.Session) string { return idCursor(s.ID) }, func(row *models.Session) *model.Session {
		expected.expectSession(row)
		return encodeSession(row)
	}, count)
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
	rows = slices.Clone(rows) // connection turns them around, and others may have the same page
	return connection(rows, w, func(m *models.Message) string { return sequenceCursor(m.Sequence) }, func(row *models.Message) *model.Message {
		expected.expectMessage(row)
		return encodeMessage(*row)
	}, func() (int, error) {
		if base > 0 {
			return r.Sessions.CountMessages(ctx, org, id, base)
		}
		return expected.firstMessages.count(ctx, id)
	}), nil
}
