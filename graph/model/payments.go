package model

// PaymentConnection is a page of a list of payments.
type PaymentConnection struct {
	Edges    []*PaymentEdge
	Nodes    []*Payment
	PageInfo *PageInfo
	Count    Count
}
