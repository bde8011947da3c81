package payments

import "context"

// Sweep looks after the payments that are due, and returns when none is.
func (s *Service) Sweep(ctx context.Context) error { return s.newWork().All(ctx) }
