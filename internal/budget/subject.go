package budget

import "github.com/ostler-dev/ostler/internal/models"

// RootOf returns the session whose budgets a session draws on: subagents and forks draw on those of the first of their line.
func RootOf(s *models.Session) models.SessionID {
	if s.RootID != nil {
		return *s.RootID
	}
	return s.ID
}

// SubjectsOf returns the subjects whose budgets bind a session, but for its customer, who has a key.
func SubjectsOf(s *models.Session) []models.SubjectID {
	list := []models.SubjectID{models.SubjectID(s.OrgID), models.SubjectID(RootOf(s))}
	if s.AgentID != nil {
		list = append(list, models.SubjectID(*s.AgentID))
	}
	if s.OwnerID != nil {
		list = append(list, models.SubjectID(*s.OwnerID))
	}
	return list
}
