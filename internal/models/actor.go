package models

// Actor is who did something, where it is somebody with an id.
type Actor struct {
	Kind ActorKind
	ID   ActorID
	// Maker is the person who made the key, where the actor is one and it is known; else zero.
	Maker UserID
}

// Person returns who stands behind an actor: the person who made a key, else the actor itself.
func (a Actor) Person() ActorRef {
	if !a.Maker.IsZero() {
		return RefTo(ActorUser, ActorID(a.Maker))
	}
	return RefTo(a.Kind, a.ID)
}

// ActorRef is an actor's id as JSON documents hold it, in the outside form of its kind, e.g. "user_…" or "key_…"; empty for none.
type ActorRef string

// RefTo returns the reference to an actor. An id of a kind that has none, and the zero id, refer to nobody.
func RefTo(kind ActorKind, id ActorID) ActorRef {
	if id.IsZero() {
		return ""
	}
	switch kind {
	case ActorUser:
		return ActorRef(UserID(id).String())
	case ActorAPIKey:
		return ActorRef(APIKeyID(id).String())
	case ActorAgent:
		return ActorRef(AgentID(id).String())
	}
	return ""
}
