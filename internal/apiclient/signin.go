package apiclient

import "context"

// Tokens are what a sign-in and a switch to another organization return.
type Tokens struct {
	AccessToken  string
	RefreshToken string
	Org          struct{ ID string }
}

// With returns a caller with these tokens, of the same server.
func (c *Client) With(t Tokens) *Client {
	other := c.As(t.AccessToken)
	other.Org = t.Org.ID
	return other
}

// SignIn exchanges e-mail and password for tokens.
func (c *Client) SignIn(ctx context.Context, email, password string) (Tokens, error) {
	var out struct{ SignIn struct{ Tokens Tokens } }
	err := c.Do(ctx, `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken refreshToken org { id } } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{"email": email, "password": password}}, &out)
	return out.SignIn.Tokens, err
}

// SwitchOrg exchanges the token for those of another organization of the same person.
func (c *Client) SwitchOrg(ctx context.Context, org string) (Tokens, error) {
	var out struct{ SwitchOrg struct{ Tokens Tokens } }
	err := c.Do(ctx, `mutation($id: ID!) { switchOrg(orgId: $id) { tokens { accessToken refreshToken org { id } } userErrors { code message path } } }`,
		map[string]any{"id": org}, &out)
	return out.SwitchOrg.Tokens, err
}

// CreateOrg makes an organization and returns its id.
func (c *Client) CreateOrg(ctx context.Context, name string) (string, error) {
	var out struct {
		CreateOrg struct{ Org struct{ ID string } }
	}
	err := c.Do(ctx, `mutation($name: String!) { createOrg(input: {name: $name}) { org { id } userErrors { code message path } } }`,
		map[string]any{"name": name}, &out)
	return out.CreateOrg.Org.ID, err
}
