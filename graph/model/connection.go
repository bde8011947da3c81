package model

import "context"

// maxCount is how far lists are counted.
const maxCount = 10_000

// Connection is a page of a list.
type Connection[N any] struct {
	Edges    []*Edge[N]
	Nodes    []*N
	PageInfo *PageInfo
	// Count counts the whole list, or one more than 10 000 where it is longer; nil for lists that aren't counted.
	Count func() (int, error)
}

// TotalCount resolves the field of that name. It is nil for lists of more than 10 000.
func (c *Connection[N]) TotalCount(context.Context) (*int, error) {
	if c.Count == nil {
		return nil, nil
	}
	n, err := c.Count()
	if err != nil || n > maxCount {
		return nil, err
	}
	return &n, nil
}

// Edge is a node of a list with its cursor.
type Edge[N any] struct {
	Cursor string
	Node   *N
}

// The lists of the API.
type (
	APIKeyConnection     = Connection[APIKey]
	APIKeyEdge           = Edge[APIKey]
	AgentConnection      = Connection[Agent]
	AgentEdge            = Edge[Agent]
	AuditConnection      = Connection[AuditEntry]
	AuditEdge            = Edge[AuditEntry]
	BudgetConnection     = Connection[Budget]
	BudgetEdge           = Edge[Budget]
	DeliveryConnection   = Connection[WebhookDelivery]
	DeliveryEdge         = Edge[WebhookDelivery]
	HarnessConnection    = Connection[Harness]
	HarnessEdge          = Edge[Harness]
	InvitationConnection = Connection[Invitation]
	InvitationEdge       = Edge[Invitation]
	LedgerConnection     = Connection[LedgerEntry]
	LedgerEdge           = Edge[LedgerEntry]
	MembershipConnection = Connection[Membership]
	MembershipEdge       = Edge[Membership]
	MessageConnection    = Connection[Message]
	MessageEdge          = Edge[Message]
	ModelConnection      = Connection[Model]
	ModelEdge            = Edge[Model]
	PaymentConnection    = Connection[Payment]
	PaymentEdge          = Edge[Payment]
	ProviderConnection   = Connection[Provider]
	ProviderEdge         = Edge[Provider]
	RevisionConnection   = Connection[Revision]
	RevisionEdge         = Edge[Revision]
	SessionConnection    = Connection[Session]
	SessionEdge          = Edge[Session]
	TurnConnection       = Connection[Turn]
	TurnEdge             = Edge[Turn]
	UsageConnection      = Connection[UsageRow]
	UsageEdge            = Edge[UsageRow]
	WaitConnection       = Connection[Wait]
	WaitEdge             = Edge[Wait]
)
