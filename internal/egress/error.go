package egress

import (
	"errors"
	"fmt"
	"net/url"
)

// WithoutAddress returns an error of net/http's without the address that was asked. What a tenant writes into an address may hold a key, in its
// path or its query, and what is logged is read by others than the tenant.
func WithoutAddress(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", asked.Op, asked.Err)
	}
	return err
}
