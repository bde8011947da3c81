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
	MaxIterations  *int
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
	MaxIterations  *int
	Tags           []string `gorm:"serializer:json;type:json"`
	Lifecycle      Lifecycle
	Revision       int
	CreatedAt      Millis `gorm:"autoCreateTime:false"`
	UpdatedAt      Millis `gorm:"autoUpdateTime:false"`
}
