package limits

import "github.com/ostler-dev/ostler/internal/models"

// Name is one of the limits.
type Name struct {
	// Name is what the API calls it, Column the database.
	Name, Column string
	// Most is the largest value that it can be set to. A limit whose largest is 1 is a permission: 0 is no, and 1 is yes.
	Most int
	// Value returns its place among the values.
	Value func(v *Values) *int
	// Own returns its place in the row of an organization's own limits.
	Own func(row *models.OrgLoad) **int64
}

// Permission reports whether it is yes or no, and no number.
func (n Name) Permission() bool { return n.Most == 1 }

// Names returns all limits.
func Names() []Name {
	return []Name{
		{"activeTurns", "active_turns", Most, func(v *Values) *int { return &v.ActiveTurns }, func(r *models.OrgLoad) **int64 { return &r.ActiveTurns }},
		{"queuedTurns", "queued_turns", Most, func(v *Values) *int { return &v.QueuedTurns }, func(r *models.OrgLoad) **int64 { return &r.QueuedTurns }},
		{"sessions", "sessions", Most, func(v *Values) *int { return &v.Sessions }, func(r *models.OrgLoad) **int64 { return &r.Sessions }},
		{"agents", "agents", Most, func(v *Values) *int { return &v.Agents }, func(r *models.OrgLoad) **int64 { return &r.Agents }},
		{"requestsPerMinute", "requests_per_minute", Most, func(v *Values) *int { return &v.RequestsPerMinute }, func(r *models.OrgLoad) **int64 { return &r.RequestsPerMinute }},
		{"toolCallsPerMinute", "tool_calls_per_minute", Most, func(v *Values) *int { return &v.ToolCallsPerMinute }, func(r *models.OrgLoad) **int64 { return &r.ToolCallsPerMinute }},
		{"subscriptions", "subscriptions", Most, func(v *Values) *int { return &v.Subscriptions }, func(r *models.OrgLoad) **int64 { return &r.Subscriptions }},
		{"sockets", "sockets", Most, func(v *Values) *int { return &v.Sockets }, func(r *models.OrgLoad) **int64 { return &r.Sockets }},
		{"apiKeys", "api_keys", Most, func(v *Values) *int { return &v.APIKeys }, func(r *models.OrgLoad) **int64 { return &r.APIKeys }},
		{"pendingInvitations", "pending_invitations", Most, func(v *Values) *int { return &v.PendingInvitations }, func(r *models.OrgLoad) **int64 { return &r.PendingInvitations }},
		{"storageBytes", "storage_bytes", MostBytes, func(v *Values) *int { return &v.StorageBytes }, func(r *models.OrgLoad) **int64 { return &r.StorageBytes }},
		{"environmentKeys", "environment_keys", 1, func(v *Values) *int { return &v.EnvironmentKeys }, func(r *models.OrgLoad) **int64 { return &r.EnvironmentKeys }},
	}
}
