package models

import "slices"

// Session is where an agent works. The columns from LastSequence on are written by the committer alone.
type Session struct {
	OrgID         OrgID     `gorm:"primaryKey"`
	ID            SessionID `gorm:"primaryKey"`
	Title         *string
	HarnessID     HarnessID
	AgentID       *AgentID
	ModelID       *ModelID
	Tags          []string `gorm:"serializer:json;type:json"`
	Locale        *string
	CustomerKey   *string
	CreatedByKind ActorKind
	CreatedByID   *ActorID
	// OwnerID is the person that the session belongs to; nil when a key made it.
	OwnerID *UserID
	// Setup is the hash of the SessionSetup that the session brings; nil for none.
	Setup []byte `gorm:"column:client_tools"`
	// Trial is true when that is a draft of an agent: the session is there to try it.
	Trial bool
	// ParentID is the session that this one was made by, RootID the first of the line; both nil for a session that users made.
	// A fork has the root of what it was forked from.
	ParentID *SessionID
	RootID   *SessionID
	// ForkedFromID is the session whose history this one began with. Through BaseSequence its log is that of others; see
	// Lineage.
	ForkedFromID *SessionID
	BaseSequence int64
	CreatedAt    Millis `gorm:"autoCreateTime:false"`

	// LastSequence is the sequence of the newest durable event.
	LastSequence int64
	// InputSequence is the sequence of the newest message that was received for the current turn. The inbox
	// is empty exactly when the turn's ConsumedThrough has reached it.
	InputSequence int64
	Status        SessionStatus
	// CurrentTurnID is the turn at the head of the line: running, waiting, or ready to be claimed.
	CurrentTurnID *TurnID
	// QueuedTurns counts the turns behind it.
	QueuedTurns int
	// FileBytes is what the session's files take, by their own sizes.
	FileBytes int64
	Usage     Usage `gorm:"embedded"`
	// ResumedAt is when somebody has let the session go on past soft limits of budgets; nil for never.
	ResumedAt *Millis
	// CompactedThrough is the sequence through which the newest answer's model was not shown the conversation; nil when it was shown all.
	CompactedThrough *int64
	UpdatedAt        Millis `gorm:"autoUpdateTime:false"`
	// Budgeted is true when its organization has budgets. It is not a column: the committer tells it of sessions under their lock.
	Budgeted bool `gorm:"-"`
}

// Turn is the work that answers one input. It is written by the committer, the claim and the takeover alone.
type Turn struct {
	OrgID          OrgID  `gorm:"primaryKey"`
	ID             TurnID `gorm:"primaryKey"`
	SessionID      SessionID
	InputMessageID MessageID
	// ModelID is the model that the message asks for.
	ModelID *ModelID
	// MaxTokens is the output limit that the message asks for, per model call.
	MaxTokens *int
	QueuedAt  Millis
	// StartedByKind and StartedByID are who sent the input.
	StartedByKind ActorKind
	StartedByID   *ActorID
	// Coauthors are the others who wrote or edited messages of the turn; nil for nobody.
	Coauthors *Coauthors `gorm:"serializer:json;type:json"`
	// QueuePosition orders the queued turns of a session.
	QueuePosition int64
	// InputSequence is the sequence of the newest message that was received for a turn that is queued.
	InputSequence int64

	Status TurnStatus
	// ReadyAt is set while the turn may be claimed: since then.
	ReadyAt *Millis
	// RunnerID is the runner that holds the lease.
	RunnerID *RunnerID
	// LeaseEpoch grows with every claim and takeover. Writes of a runner name the epoch that they were made under.
	LeaseEpoch int64
	// Takeovers counts takeovers in a row without a committed step.
	Takeovers int
	// Recoveries counts takeovers from runners that had died.
	Recoveries int

	Phase     Phase
	Iteration int
	ToolCalls int
	// PendingCalls counts the calls of the present act that have not settled.
	PendingCalls int
	// WaitingCalls counts those of them that wait for somebody. A turn whose pending calls all wait is parked.
	WaitingCalls int
	// Attention tells the runner that something has happened to its turn: a cancel, or a resolved wait.
	Attention bool
	// Announced is true when a tool has asked for the key of a wait: some may be open that nobody waits for.
	Announced bool
	// Carries is the sequence of the newest message that another turn had not been shown and that has come to this one; 0 for none.
	Carries int64
	// EndHooks is true when hooks are to run when the turn has ended.
	EndHooks bool
	// Cancel is who asked for the turn's end; nil for nobody.
	Cancel *Cancel `gorm:"serializer:json;type:json"`
	// ModelCalls counts calls of the model, the ones of crashed runners included.
	ModelCalls int
	// ConsumedThrough is the sequence of the newest received message that the model has been shown; 0 again when older ones have come
	// to the turn, from one that had carried them.
	ConsumedThrough int64
	// OutputMessageID is the message that the present reason step writes.
	OutputMessageID *MessageID
	FinalMessageID  *MessageID
	AnswerPreview   *string
	StopReason      *StopReason
	// EndedSequence is the sequence of the event that ended the turn.
	EndedSequence *int64
	Error         *Failure `gorm:"serializer:json;type:json"`
	Usage         Usage    `gorm:"embedded"`
	// Reservation is what the turn holds of budgets; nil for nothing.
	Reservation *Reservation `gorm:"serializer:json;type:json"`
	// HarnessRevision and AgentRevision are what the turn ran with.
	HarnessRevision *int
	AgentRevision   *int
	StartedAt       *Millis
	FirstTokenAt    *Millis
	FinishedAt      *Millis
}

// Coauthors are the people and keys, beside the one who started a turn, whose words are in its messages, and the people who
// made those keys. It is never changed in place.
type Coauthors []ActorRef

// With returns the list with the given actors added. It is nil only when there is nobody.
func (c *Coauthors) With(more ...ActorRef) *Coauthors {
	for _, a := range more {
		if a != "" && !c.has(a) {
			c = new(append(slices.Clip(c.list()), a))
		}
	}
	return c
}

func (c *Coauthors) has(a ActorRef) bool { return slices.Contains(c.list(), a) }

func (c *Coauthors) list() Coauthors {
	if c == nil {
		return nil
	}
	return *c
}

// AuthoredBy reports whether somebody, or the person who made their key, started the turn, or wrote or edited a message of it.
func (t *Turn) AuthoredBy(a Actor) bool {
	return t.names(a.Kind, a.ID) || !a.Maker.IsZero() && t.names(ActorUser, ActorID(a.Maker))
}

// AddAuthor makes somebody an author of the turn, with the person who made their key. It reports whether that is news.
func (t *Turn) AddAuthor(a Actor) (added bool) {
	if !t.names(a.Kind, a.ID) {
		t.Coauthors, added = t.Coauthors.With(RefTo(a.Kind, a.ID)), true
	}
	if !a.Maker.IsZero() && !t.names(ActorUser, ActorID(a.Maker)) {
		t.Coauthors, added = t.Coauthors.With(RefTo(ActorUser, ActorID(a.Maker))), true
	}
	return added
}

func (t *Turn) names(kind ActorKind, id ActorID) bool {
	return t.StartedByID != nil && *t.StartedByID == id && t.StartedByKind == kind || t.Coauthors.has(RefTo(kind, id))
}

// Message is projected from events, in the same transaction, so that history is read without the log.
type Message struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	ID        MessageID `gorm:"primaryKey"`
	SessionID SessionID
	TurnID    TurnID
	Role      MessageRole
	Content   []Part `gorm:"serializer:json;type:json"`
	// Sequence is that of the event which completed the message.
	Sequence int64
	// Position and Ordinal order what the model is shown. Position is the sequence of the event that brought the
	// message into the conversation; it is nil while the message waits in the inbox. Ordinal orders the
	// results of one act as the model asked for them.
	Position *int64
	Ordinal  int
	Error    *Failure `gorm:"serializer:json;type:json"`
	// AuthorKind and AuthorID are who sent a message of the user; nil for others. Older rows name a user without the kind.
	AuthorKind *ActorKind
	AuthorID   *ActorID
	// Interrupted is true when the agent was stopped in the middle of the message.
	Interrupted bool
	CreatedAt   Millis `gorm:"autoCreateTime:false"`
}

// Cancel is a request to end a turn.
type Cancel struct {
	At     Millis    `json:"at"`
	Reason string    `json:"reason,omitempty"`
	ByKind ActorKind `json:"byKind"`
	ByID   ActorRef  `json:"byId,omitempty"`
}

// Lineage is a piece of a fork's history: the events after a sequence, through another, are those of an ancestor.
type Lineage struct {
	OrgID           OrgID     `gorm:"primaryKey"`
	SessionID       SessionID `gorm:"primaryKey"`
	ThroughSequence int64     `gorm:"primaryKey"`
	AfterSequence   int64
	AncestorID      SessionID
}

// TableName tells GORM the table's name.
func (Lineage) TableName() string { return "session_lineage" }

// SessionSetup is what a session brings along, by the SHA-256 of its content: client tools, or a draft of an agent to try. It never changes, and
// sessions that bring the same share it.
type SessionSetup struct {
	OrgID OrgID  `gorm:"primaryKey"`
	Hash  []byte `gorm:"primaryKey"`
	Tools ClientTools
	// Draft is what the session runs with in the place of its agent; nil for none.
	Draft JSON
}

// TableName tells GORM the table's name: client tools were all that it held.
func (SessionSetup) TableName() string { return "client_toolsets" }

// Event is a durable event of a session.
type Event struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
	Sequence  int64     `gorm:"primaryKey"`
	ID        EventID
	Kind      EventKind
	TurnID    *TurnID
	// Data is a text to PostgreSQL, which knows the size of one without unpacking it.
	Data       JSON `gorm:"type:text"`
	OccurredAt Millis
	// FeedPosition is the place in the organization's feed, gapless from 1; nil for events that are not in it.
	FeedPosition *int64
	// AgentID is the session's agent, for readers of the feed; nil for none. It is not a column: an event that was just
	// committed has the agent of that moment, one that was read from the log has the session's present one.
	AgentID *AgentID `gorm:"-"`
}

// Effect is an entry of the journal: one outside action of an execution, claimed before it runs.
type Effect struct {
	OrgID     OrgID       `gorm:"primaryKey"`
	ScopeID   ExecutionID `gorm:"primaryKey"`
	ReplayKey string      `gorm:"primaryKey"`
	SessionID SessionID
	Kind      EffectKind
	State     EffectState
	// InputHash is the SHA-256 of the canonical form of what was asked.
	InputHash []byte
	// Request is what was asked, frozen: a replay runs this, whatever the catalogue says by then.
	Request JSON
	// Outcome is what came of it.
	Outcome JSON
	// Epoch is the lease under which it began.
	Epoch     int64
	Attempt   int
	Ordinal   int
	StartedAt *Millis
	SettledAt *Millis
	// DueAt is when the next attempt may begin; nil for at once.
	DueAt *Millis
}

// Checkpoint is what a model stream has brought so far, overwritten as it grows.
type Checkpoint struct {
	OrgID     OrgID  `gorm:"primaryKey"`
	TurnID    TurnID `gorm:"primaryKey"`
	SessionID SessionID
	MessageID MessageID
	Epoch     int64
	Attempt   int
	Text      string
	Thinking  string
	// ToolCall is true when a tool call had begun.
	ToolCall bool
	// Usage is what is known of the step's calls, as JSON: the model that is asked, what the provider has reported so far, and what
	// earlier calls took. The engine alone reads it.
	Usage JSON
	// UpdatedAt is the time of the last piece.
	UpdatedAt Millis `gorm:"autoUpdateTime:false"`
}

// SessionFile is a file or directory of a session.
type SessionFile struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
	Path      string    `gorm:"primaryKey"`
	Directory bool
	Readonly  bool
	// Size in bytes.
	Size int64
	// Hash is the SHA-256 of the content, the key of its Blob; nil for directories.
	Hash []byte
	// Encoding is how the API shows the content: text or base64.
	Encoding  string
	UpdatedAt Millis `gorm:"autoUpdateTime:false"`
}

// Blob is content that files share by its SHA-256, within one organization.
type Blob struct {
	OrgID   OrgID  `gorm:"primaryKey"`
	Hash    []byte `gorm:"primaryKey"`
	Size    int64
	Content []byte
}

// SessionTodos is the agent's plan.
type SessionTodos struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
	Items     []Todo    `gorm:"serializer:json;type:json"`
	UpdatedAt Millis    `gorm:"autoUpdateTime:false"`
}

// IdempotencyKey remembers the answer to a request that its caller may repeat.
type IdempotencyKey struct {
	OrgID     OrgID  `gorm:"primaryKey"`
	Operation string `gorm:"primaryKey"`
	Key       string `gorm:"primaryKey"`
	InputHash []byte
	// Result holds the ids that the answer is made from.
	Result    JSON
	ExpiresAt Millis
}

// Runner is a process that runs turns. Beat grows while it lives.
type Runner struct {
	ID        RunnerID `gorm:"primaryKey"`
	Host      string
	StartedAt Millis
	Beat      int64
	// LockKey is what its process holds on PostgreSQL as an advisory lock while it lives; nil where only the heartbeat tells.
	LockKey *int64
}

// TableName tells GORM the table's name.
func (SessionTodos) TableName() string { return "session_todos" }
