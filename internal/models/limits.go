package models

// OrgLoad is how much an organization may ask of the runners, and what it may have and do, where that is not the usual. Of the limits 0
// is any number, nil what is configured for all.
type OrgLoad struct {
	OrgID OrgID `gorm:"primaryKey"`
	// Weight is how many turns it gets when others get one, from 1 to 1000.
	Weight int64
	// ActiveTurns is how many of its turns may be at work.
	ActiveTurns *int64
	// QueuedTurns is how many of its turns may wait to begin.
	QueuedTurns       *int64
	Sessions          *int64
	Agents            *int64
	RequestsPerMinute *int64
	// ToolCallsPerMinute counts calls of tools that reach out of the server.
	ToolCallsPerMinute *int64
	Subscriptions      *int64
	Sockets            *int64
	// APIKeys counts those that are not revoked.
	APIKeys            *int64
	PendingInvitations *int64
	// EnvironmentKeys is 1 where the provider keys of the server's environment may be used.
	EnvironmentKeys *int64
	// StorageBytes is how many bytes of files and images may be stored.
	StorageBytes *int64
	// LimitsChangedAt is when one of the limits was set last; 0 for never.
	LimitsChangedAt Millis
}

// OrgRate is how many requests all processes have taken for an organization in a minute, and how many outbound calls of tools.
type OrgRate struct {
	OrgID OrgID `gorm:"primaryKey"`
	// Minute counts from 1970 on.
	Minute int64
	Taken  int64
	// ToolMinute is the minute of the calls of tools.
	ToolMinute     int64
	ToolCallsTaken int64
}

// APINode is a process that serves requests.
type APINode struct {
	ID     APINodeID `gorm:"primaryKey"`
	SeenAt Millis
}

// OrgLease is what a process has taken of the sockets and subscriptions of an organization.
type OrgLease struct {
	OrgID         OrgID     `gorm:"primaryKey"`
	NodeID        APINodeID `gorm:"primaryKey"`
	Sockets       int64
	Subscriptions int64
}

// OrgStorage is how many bytes of content an organization has stored, each content once. The database counts them.
type OrgStorage struct {
	OrgID OrgID `gorm:"primaryKey"`
	Bytes int64
}

// TableName implements gorm's Tabler.
func (OrgStorage) TableName() string { return "org_storage" }
