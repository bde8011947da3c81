package limits

import "github.com/ostler-dev/ostler/internal/models"

// Name is one of the limits.
type Name struct {
	// Name is what the API calls it, Column the database.
	Name, Column string
	// Value gives its place among the values.
	Value func(v *Values) *int
	// Own gives its place in the row of an organization's own limits.
	Own func(row *models.OrgLoad) **int64
}

// Names gives all limits.
func Names() []Name {
	return []Name{
		{"activeTurns", "active_turns", func(v *Values) *int { return &v.ActiveTurns }, func(r *models.OrgLoad) **int64 { return &r.ActiveTurns }},
		{"queuedTurns", "queued_turns", func(v *Values) *int { return &v.QueuedTurns }, func(r *models.OrgLoad) **int64 { return &r.QueuedTurns }},
		{"sessions", "sessions", func(v *Values) *int { return &v.Sessions }, func(r *models.OrgLoad) **int64 { return &r.Sessions }},
		{"agents", "agents", func(v *Values) *int { return &v.Agents }, func(r *models.OrgLoad) **int64 { return &r.Agents }},
		{"requestsPerMinute", "requests_per_minute", func(v *Values) *int { return &v.RequestsPerMinute }, func(r *models.OrgLoad) **int64 { return &r.RequestsPerMinute }},
		{"toolCallsPerMinute", "tool_calls_per_minute", func(v *Values) *int { return &v.ToolCallsPerMinute }, func(r *models.OrgLoad) **int64 { return &r.ToolCallsPerMinute }},
		{"subscriptions", "subscriptions", func(v *Values) *int { return &v.Subscriptions }, func(r *models.OrgLoad) **int64 { return &r.Subscriptions }},
		{"sockets", "sockets", func(v *Values) *int { return &v.Sockets }, func(r *models.OrgLoad) **int64 { return &r.Sockets }},
		{"apiKeys", "api_keys", func(v *Values) *int { return &v.APIKeys }, func(r *models.OrgLoad) **int64 { return &r.APIKeys }},
		{"pendingInvitations", "pending_invitations", func(v *Values) *int { return &v.PendingInvitations }, func(r *models.OrgLoad) **int64 { return &r.PendingInvitations }},
	}
}
