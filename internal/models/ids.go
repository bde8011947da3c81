package models

// The entities that have ids.
type (
	OrgEntity        struct{}
	UserEntity       struct{}
	MembershipEntity struct{}
	ProviderEntity   struct{}
	ModelEntity      struct{}
	HarnessEntity    struct{}
	AgentEntity      struct{}
	SessionEntity    struct{}
	TurnEntity       struct{}
	MessageEntity    struct{}
	EventEntity      struct{}
	SignInEntity     struct{}
	RunnerEntity     struct{}
	ImageEntity      struct{}
	WaitEntity       struct{}
	HookJobEntity    struct{}
	APINodeEntity    struct{}
)

// Prefix implements Entity.
func (OrgEntity) Prefix() string { return "org" }

// Prefix implements Entity.
func (UserEntity) Prefix() string { return "user" }

// Prefix implements Entity.
func (MembershipEntity) Prefix() string { return "mship" }

// Prefix implements Entity.
func (ProviderEntity) Prefix() string { return "prov" }

// Prefix implements Entity.
func (ModelEntity) Prefix() string { return "model" }

// Prefix implements Entity.
func (HarnessEntity) Prefix() string { return "harn" }

// Prefix implements Entity.
func (AgentEntity) Prefix() string { return "agent" }

// Prefix implements Entity.
func (SessionEntity) Prefix() string { return "sess" }

// Prefix implements Entity.
func (TurnEntity) Prefix() string { return turnPrefix }

const turnPrefix = "turn"

// Prefix implements Entity.
func (MessageEntity) Prefix() string { return "msg" }

// Prefix implements Entity.
func (EventEntity) Prefix() string { return "evt" }

// Prefix implements Entity.
func (SignInEntity) Prefix() string { return "signin" }

// Prefix implements Entity.
func (RunnerEntity) Prefix() string { return "runner" }

// Prefix implements Entity.
func (ImageEntity) Prefix() string { return "img" }

// Prefix implements Entity.
func (WaitEntity) Prefix() string { return "wait" }

// Prefix implements Entity.
func (HookJobEntity) Prefix() string { return "hookjob" }

// Prefix implements Entity.
func (APINodeEntity) Prefix() string { return "node" }

// One typed id per entity.
type (
	OrgID        = ID[OrgEntity]
	UserID       = ID[UserEntity]
	MembershipID = ID[MembershipEntity]
	ProviderID   = ID[ProviderEntity]
	ModelID      = ID[ModelEntity]
	HarnessID    = ID[HarnessEntity]
	AgentID      = ID[AgentEntity]
	SessionID    = ID[SessionEntity]
	TurnID       = ID[TurnEntity]
	MessageID    = ID[MessageEntity]
	EventID      = ID[EventEntity]
	SignInID     = ID[SignInEntity]
	RunnerID     = ID[RunnerEntity]
	ImageID      = ID[ImageEntity]
	WaitID       = ID[WaitEntity]
	HookJobID    = ID[HookJobEntity]
	APINodeID    = ID[APINodeEntity]
)
