package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

func (l *loaders) expectSession(s *models.Session) {
	l.harnesses.expect(&s.HarnessID)
	l.agents.expect(s.AgentID)
	l.models.expect(s.ModelID)
	l.turns.expect(s.CurrentTurnID)
	l.sessions.expect(s.ForkedFromID)
	l.expectActor(s.CreatedByKind, s.CreatedByID)
	l.users.expect(s.OwnerID)
	l.sessions.expect(s.ParentID)
	l.sessions.expect(s.RootID)
	l.waits.expect(s.CurrentTurnID)
	l.queued.expect(&s.ID)
	l.todos.expect(&s.ID)
	l.indexed.expect(&s.ID)
	l.matches.expect(s.ID)
	if s.BaseSequence == 0 {
		l.newestTurns.expect(s.ID)
		l.firstMessages.expect(s.ID)
		l.lastMessages.expect(s.ID)
	}
	if len(s.Setup) > 0 {
		l.clientTools.expect(new(string(s.Setup)))
	}
}

func (l *loaders) expectTurn(t *models.Turn) {
	l.sessions.expect(&t.SessionID)
	l.messages.expect(&t.InputMessageID)
	l.messages.expect(t.FinalMessageID)
	l.expectActor(t.StartedByKind, t.StartedByID)
	l.feedback.expect(&t.ID)
	if waits(model.TurnStatus(t.Status)) {
		l.waits.expect(&t.ID)
	}
}

func (l *loaders) expectMessage(m *models.Message) { l.turns.expect(&m.TurnID) }

func (r *Resolver) usersByID(ctx context.Context, ids []models.UserID) (map[models.UserID]*models.User, error) {
	rows, err := r.Orgs.Users(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[models.UserID]*models.User, len(rows))
	for id, u := range rows {
		found[id] = &u
	}
	return found, nil
}

func (r *Resolver) sessionByID(ctx context.Context, id models.SessionID) (*model.Session, error) {
	s, err := r.Sessions.Get(ctx, auth.FromContext(ctx).OrgID, id)
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).expectSession(s)
	return encodeSession(s), nil
}

func (r *Resolver) turnByID(ctx context.Context, id models.TurnID) (*model.Turn, error) {
	t, err := r.Sessions.Turn(ctx, auth.FromContext(ctx).OrgID, id)
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).expectTurn(t)
	return encodeTurn(t), nil
}

func (r *Resolver) messageByID(ctx context.Context, id models.MessageID) (*model.Message, error) {
	m, err := r.Sessions.Message(ctx, auth.FromContext(ctx).OrgID, id)
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).expectMessage(m)
	return encodeMessage(*m), nil
}

// memberByID returns a person who belongs to the caller's organization; NOT_FOUND for everybody else.
func (r *Resolver) memberByID(ctx context.Context, id models.UserID) (*model.User, error) {
	u, err := r.Orgs.Member(ctx, auth.FromContext(ctx).OrgID, id)
	return encoded(&u, err, encodeUser)
}

// edge resolves an edge by a loader; null when it leads nowhere.
func edge[K comparable, V, N any](ctx context.Context, l *loader[K, *V], id *K, encode func(*V) *N) (*N, error) {
	if id == nil {
		return nil, nil
	}
	v, ok, err := l.load(ctx, *id)
	if err != nil || !ok {
		return nil, err
	}
	return encode(v), nil
}

func (r *Resolver) sessionEdge(ctx context.Context, id models.SessionID) (*model.Session, error) {
	return edge(ctx, r.loadersOf(ctx).sessions, &id, encodeSession)
}

func (r *Resolver) turnEdge(ctx context.Context, id *models.TurnID) (*model.Turn, error) {
	return edge(ctx, r.loadersOf(ctx).turns, id, encodeTurn)
}

func (r *Resolver) messageEdge(ctx context.Context, id *models.MessageID) (*model.Message, error) {
	return edge(ctx, r.loadersOf(ctx).messages, id, func(m *models.Message) *model.Message { return encodeMessage(*m) })
}

func (r *Resolver) userEdge(ctx context.Context, id *models.UserID) (*model.User, error) {
	return edge(ctx, r.loadersOf(ctx).users, id, encodeUser)
}
