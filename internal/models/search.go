package models

// MessageWord is a word of a session's messages.
type MessageWord struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	Word      string    `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
}

// WordFeed is how far the words of an organization's messages go in its feed.
type WordFeed struct {
	OrgID    OrgID `gorm:"primaryKey"`
	Position int64
}

// WordSession is how far the words of a session's messages go, by their positions in the conversation.
type WordSession struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	SessionID SessionID `gorm:"primaryKey"`
	Position  int64
	// Words is how many there are.
	Words int
}
