package models

// Actor is who did something, where it is somebody with an id.
type Actor struct {
	Kind ActorKind
	ID   ActorID
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
