package models

// Provider is a service that runs models. Credentials is sealed; see internal/secrets.
type Provider struct {
	OrgID       OrgID      `gorm:"primaryKey"`
	ID          ProviderID `gorm:"primaryKey"`
	Name        string
	Kind        ProviderKind
	BaseURL     *string
	Credentials []byte
	Lifecycle   Lifecycle
	CreatedAt   Millis `gorm:"autoCreateTime:false"`
	UpdatedAt   Millis `gorm:"autoUpdateTime:false"`
}

// Model is a model of a provider. Prices are dollars per million tokens in 10^-9 dollars; nil where unknown.
type Model struct {
	OrgID               OrgID   `gorm:"primaryKey"`
	ID                  ModelID `gorm:"primaryKey"`
	ProviderID          ProviderID
	Name                string
	DisplayName         string
	Enabled             bool
	ContextWindowTokens *int
	MaxOutputTokens     *int
	PriceInput          *Nanos
	PriceOutput         *Nanos
	PriceCacheRead      *Nanos
	PriceCacheWrite     *Nanos
	CreatedAt           Millis `gorm:"autoCreateTime:false"`
	UpdatedAt           Millis `gorm:"autoUpdateTime:false"`
}

// Harness tells how agents run. Capabilities is a JSON list of CapabilityRef.
type Harness struct {
	OrgID          OrgID     `gorm:"primaryKey"`
	ID             HarnessID `gorm:"primaryKey"`
	Name           string
	NameKey        string // Name in lower case, by which lists are searched
	DisplayName    string
	Description    *string
	ParentID       *HarnessID
	SystemPrompt   *string
	Capabilities   []CapabilityRef `gorm:"serializer:json;type:json"`
	DefaultModelID *ModelID
	// FallbackModelIDs are asked in this order when the chosen model can't be reached. An empty list leaves it to the parent.
	FallbackModelIDs ModelIDs
	MaxIterations    *int
	// StreamRecovery is nil to leave it to the parent.
	StreamRecovery *StreamRecovery
	Lifecycle      Lifecycle
	BuiltIn        bool
	Revision       int
	CreatedAt      Millis `gorm:"autoCreateTime:false"`
	UpdatedAt      Millis `gorm:"autoUpdateTime:false"`
}

// Agent tells what an agent is for.
type Agent struct {
	OrgID          OrgID   `gorm:"primaryKey"`
	ID             AgentID `gorm:"primaryKey"`
	Name           string
	NameKey        string // Name in lower case, by which lists are searched
	DisplayName    string
	Description    *string
	HarnessID      *HarnessID
	SystemPrompt   string
	Capabilities   []CapabilityRef `gorm:"serializer:json;type:json"`
	DefaultModelID *ModelID
	// FallbackModelIDs are asked in this order when the chosen model can't be reached. An empty list leaves it to the parent.
	FallbackModelIDs ModelIDs
	MaxIterations    *int
	// ClientTools are run by the caller's own program.
	ClientTools ClientTools
	Tags        []string `gorm:"serializer:json;type:json"`
	Lifecycle   Lifecycle
	Revision    int
	CreatedAt   Millis `gorm:"autoCreateTime:false"`
	UpdatedAt   Millis `gorm:"autoUpdateTime:false"`
}

// Revision is a state that a harness or an agent had, from one change to the next.
type Revision struct {
	ActorKind ActorKind
	ActorID   *ActorID
	// Reason is what the one who made the change said about it.
	Reason *string
	// Snapshot is the state as the API names it, without secrets.
	Snapshot  JSON
	CreatedAt Millis `gorm:"autoCreateTime:false"`
}

// HarnessRevision is a Revision of a harness.
type HarnessRevision struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	HarnessID HarnessID `gorm:"primaryKey"`
	Number    int       `gorm:"primaryKey"`
	Revision  `gorm:"embedded"`
}

// AgentRevision is a Revision of an agent.
type AgentRevision struct {
	OrgID    OrgID   `gorm:"primaryKey"`
	AgentID  AgentID `gorm:"primaryKey"`
	Number   int     `gorm:"primaryKey"`
	Revision `gorm:"embedded"`
}

// Image is an image that messages may show. Its content is the Blob of the same hash.
type Image struct {
	OrgID     OrgID   `gorm:"primaryKey"`
	ID        ImageID `gorm:"primaryKey"`
	Name      string
	MediaType string
	// Size in bytes; Width and Height in pixels.
	Size          int64
	Width, Height int
	Hash          []byte
	CreatedByKind ActorKind
	CreatedByID   *ActorID
	CreatedAt     Millis `gorm:"autoCreateTime:false"`
}

// OrgFeed is the newest position of an organization's feed, and what is counted with it.
type OrgFeed struct {
	OrgID    OrgID `gorm:"primaryKey"`
	Position int64
	// Sessions counts the organization's sessions, QueuedTurns its turns that have not begun.
	Sessions    int64
	QueuedTurns int64
	// SessionsCap and QueuedTurnsCap are what the newest transaction that added some had to stay within; nil for anything.
	SessionsCap    *int64
	QueuedTurnsCap *int64
}
