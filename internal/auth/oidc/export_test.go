package oidc

import "net/http"

// HTTPOf returns the client for the issuer.
func HTTPOf(c *Client) *http.Client { return c.http }
