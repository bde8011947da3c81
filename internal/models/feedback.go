package models

// Rating is what somebody thinks of a turn's answer.
type Rating string

// The ratings.
const (
	RatingUp   Rating = "UP"
	RatingDown Rating = "DOWN"
)

// Feedback is what one person or API key thinks of a turn. Once taken back it has neither rating nor comment.
type Feedback struct {
	OrgID     OrgID   `gorm:"primaryKey"`
	TurnID    TurnID  `gorm:"primaryKey"`
	ActorID   ActorID `gorm:"primaryKey"`
	ActorKind ActorKind
	SessionID SessionID
	Rating    *Rating
	Comment   *string
	RatedAt   Millis
}

// TableName is singular: feedback can't be counted.
func (Feedback) TableName() string { return "turn_feedback" }
