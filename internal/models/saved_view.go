package models

// SavedViewEntity tags the ids of saved views.
type SavedViewEntity struct{}

// Prefix of the ids in their text form.
func (SavedViewEntity) Prefix() string { return "view" }

// SavedViewID is the id of a SavedView.
type SavedViewID = ID[SavedViewEntity]

// SavedView is a list of sessions that a person has put together, and comes back to.
type SavedView struct {
	OrgID  OrgID       `gorm:"primaryKey"`
	UserID UserID      `gorm:"primaryKey"`
	ID     SavedViewID `gorm:"primaryKey"`
	Name   string
	// NameKey is the name in lower case, by which it is the only one of the person.
	NameKey string
	// Search is what the dashboard's address holds: filters, order and columns.
	Search string
	// Preferred is true for the one that the list of sessions begins with.
	Preferred bool
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	UpdatedAt Millis `gorm:"autoUpdateTime:false"`
}
