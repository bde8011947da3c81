package models

// MessageWord is a word of a session's messages.
type MessageWord struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	Word      string    `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
	// Position is that of the first message with the word in the conversation.
	Position int64
}

// WordFeed is how far the index of an organization's sessions goes in its feed.
type WordFeed struct {
	OrgID    OrgID `gorm:"primaryKey"`
	Position int64
	// Backfilled is how far it goes in what was there before it, which ends at BackfillThrough.
	Backfilled, BackfillThrough int64
}

// IndexedSession is what lists show of a session and are ordered and filtered by, as of a few seconds ago.
type IndexedSession struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
	// Trial is true for one that tries a draft: lists leave it out, and its words are not indexed.
	Trial bool
	// Position is how far its words go, by the positions of messages in the conversation, and Words how many there are.
	Position int64
	Words    int
	// Preview is the beginning of the newest message, on one line; nil before there is one.
	Preview   *string
	ActiveAt  Millis
	CostNanos Nanos
	// Outcome is how the latest turn ended that had begun, and DurationMs how long it took; nil and 0 before there is one.
	Outcome    *TurnStatus
	DurationMs int64
	// ModelID is the model that was called last.
	ModelID *ModelID
}
