package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
)

// systemName is what the actor SYSTEM is called.
const systemName = "Ostler"

// expectActor notes that an edge leads to who did something.
func (l *loaders) expectActor(kind models.ActorKind, id *models.ActorID) {
	if id == nil {
		return
	}
	switch kind {
	case models.ActorUser:
		l.users.expect(new(models.UserID(*id)))
	case models.ActorAPIKey:
		l.keys.expect(new(models.APIKeyID(*id)))
	}
}

// actorEdge shows who did something. Keys have their names after they were revoked, too, and people after they left.
func (r *Resolver) actorEdge(ctx context.Context, kind models.ActorKind, id *models.ActorID) (*model.Actor, error) {
	if id == nil {
		return encodeActor(kind, nil, ""), nil
	}
	l, name := r.loadersOf(ctx), ""
	switch kind {
	case models.ActorUser:
		u, ok, err := l.users.load(ctx, models.UserID(*id))
		if err != nil {
			return nil, err
		}
		if ok {
			name = u.Name
		}
	case models.ActorAPIKey:
		k, ok, err := l.keys.load(ctx, models.APIKeyID(*id))
		if err != nil {
			return nil, err
		}
		if ok {
			name = k.Name
		}
	}
	return encodeActor(kind, id, name), nil
}

// encodeActor shows an actor by its name, which is empty when it isn't known any more.
func encodeActor(kind models.ActorKind, id *models.ActorID, name string) *model.Actor {
	a := &model.Actor{Kind: model.ActorKind(kind), Name: name}
	if id != nil {
		a.ID = nonEmpty(string(models.RefTo(kind, *id)))
	}
	if kind == models.ActorSystem {
		a.Name = systemName
	}
	return a
}
