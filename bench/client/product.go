package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"
)

// Product is a signed-in caller with organizations of its own, each with an agent that answers without delay.
type Product struct {
	api   *API // as the owner, bound to the first organization
	setup Setup

	mu     sync.Mutex
	orgs   []*org
	tokens time.Time // when the tokens were made
}

// Setup is what the product is prepared with.
type Setup struct {
	Email, Password string
	Orgs            int
	// Model is a simulated model; messages choose what it does.
	Model                    string
	ToolMessage, TextMessage string
	// ContextWindow is how many tokens the model is said to take; 0 leaves it as it is.
	ContextWindow int
	// Agent has fields of the agents' input beside, or instead of, the usual ones.
	Agent map[string]any
}

type org struct {
	id, agent string
	api       *API
}

// tokenLife is when tokens are renewed: well before their 15 minutes are over.
const tokenLife = 8 * time.Minute

// SignIn exchanges e-mail and password for a token.
func SignIn(ctx context.Context, api *API, email, password string) (token, orgID string, err error) {
	var out struct {
		SignIn auth `json:"signIn"`
	}
	err = api.Do(ctx, `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken org { id } } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{"email": email, "password": password}}, &out)
	if err != nil {
		return "", "", fmt.Errorf("sign in: %w", err)
	}
	return out.SignIn.Tokens.AccessToken, out.SignIn.Tokens.Org.ID, nil
}

type auth struct {
	Tokens struct {
		AccessToken string
		Org         struct{ ID string }
	}
}

// Prepare signs in and makes the organizations and their agents.
func Prepare(ctx context.Context, url string, setup Setup) (*Product, error) {
	api := NewAPI(url)
	token, _, err := SignIn(ctx, api, setup.Email, setup.Password)
	if err != nil {
		return nil, err
	}
	p := &Product{api: api.As(token), setup: setup, tokens: time.Now()}
	for i := range setup.Orgs {
		o, err := p.createOrg(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("organization %d: %w", i, err)
		}
		p.orgs = append(p.orgs, o)
	}
	return p, nil
}

func (p *Product) createOrg(ctx context.Context, i int) (*org, error) {
	var created struct {
		CreateOrg struct{ Org struct{ ID string } }
	}
	err := p.api.Do(ctx, `mutation($input: CreateOrgInput!) { createOrg(input: $input) { org { id } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{"name": fmt.Sprintf("Bench %d", i)}}, &created)
	if err != nil {
		return nil, err
	}
	o := &org{id: created.CreateOrg.Org.ID}
	if err := p.switchTo(ctx, o); err != nil {
		return nil, err
	}
	model, err := o.findModel(ctx, p.setup.Model)
	if err == nil && p.setup.ContextWindow != 0 {
		err = o.api.Do(ctx, `mutation($id: ID!, $input: UpdateModelInput!) { updateModel(id: $id, input: $input) { model { id } userErrors { code message path } } }`,
			map[string]any{"id": model, "input": map[string]any{"contextWindowTokens": p.setup.ContextWindow}}, nil)
	}
	if err != nil {
		return nil, err
	}
	input := map[string]any{
		"name": "bench", "systemPrompt": "Answer.", "defaultModelId": model, "capabilities": []any{map[string]any{"id": "core"}},
	}
	maps.Copy(input, p.setup.Agent)
	var agent struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	err = o.api.Do(ctx, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { code message path } } }`,
		map[string]any{"input": input}, &agent)
	if err != nil {
		return nil, err
	}
	o.agent = agent.CreateAgent.Agent.ID
	return o, nil
}

// switchTo gives the organization a token of its own.
func (p *Product) switchTo(ctx context.Context, o *org) error {
	var out struct {
		SwitchOrg auth `json:"switchOrg"`
	}
	err := p.api.Do(ctx, `mutation($id: ID!) { switchOrg(orgId: $id) { tokens { accessToken org { id } } userErrors { code message path } } }`,
		map[string]any{"id": o.id}, &out)
	if err != nil {
		return err
	}
	if out.SwitchOrg.Tokens.Org.ID != o.id {
		return fmt.Errorf("switchOrg to %s gave a token for %s", o.id, out.SwitchOrg.Tokens.Org.ID)
	}
	o.api = p.api.As(out.SwitchOrg.Tokens.AccessToken)
	return nil
}

// findModel gives the id of a simulated model, and makes it when the organization has none of that name.
func (o *org) findModel(ctx context.Context, name string) (string, error) {
	var found struct {
		Models struct {
			Nodes []struct{ ID, Name string }
		}
		Providers struct {
			Nodes []struct{ ID, Kind string }
		}
	}
	if err := o.api.Do(ctx, `{ models(first: 100) { nodes { id name } } providers(first: 100) { nodes { id kind } } }`, nil, &found); err != nil {
		return "", err
	}
	for _, m := range found.Models.Nodes {
		if m.Name == name {
			return m.ID, nil
		}
	}
	for _, provider := range found.Providers.Nodes {
		if provider.Kind != "SIMULATED" {
			continue
		}
		var created struct {
			CreateModel struct{ Model struct{ ID string } }
		}
		err := o.api.Do(ctx, `mutation($input: CreateModelInput!) { createModel(input: $input) { model { id } userErrors { code message path } } }`,
			map[string]any{"input": map[string]any{
				"providerId": provider.ID, "name": name, "price": map[string]any{"input": "1", "output": "5"},
			}}, &created)
		return created.CreateModel.Model.ID, err
	}
	return "", errors.New("no simulated provider")
}

// renew replaces tokens that are about to expire.
func (p *Product) renew(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.tokens) < tokenLife {
		return nil
	}
	token, _, err := SignIn(ctx, NewAPI(p.api.URL), p.setup.Email, p.setup.Password)
	if err != nil {
		return err
	}
	p.api = p.api.As(token)
	for _, o := range p.orgs {
		if err := p.switchTo(ctx, o); err != nil {
			return err
		}
	}
	p.tokens = time.Now()
	return nil
}

// CreateSessions makes sessions, spread over the organizations.
func (p *Product) CreateSessions(ctx context.Context, count int) ([]*ProductSession, error) {
	return p.whole().CreateSessions(ctx, count)
}

// Open makes a session per listener, each with a socket and a live subscriber of its own.
func (p *Product) Open(ctx context.Context, listeners []Listener) ([]Session, error) {
	return p.whole().Open(ctx, listeners)
}

// Part is the product at one of its nodes, or one organization of it.
type Part struct {
	product *Product
	url     string // of the node; empty for the one that the product was prepared with
	orgs    []*org
}

func (p *Product) whole() Part { return Part{product: p, orgs: p.orgs} }

// At gives the product at another node.
func (p *Product) At(url string) Part { return Part{product: p, url: url, orgs: p.orgs} }

// Org gives one organization of the product, by its number.
func (p *Product) Org(i int) Part { return Part{product: p, orgs: p.orgs[i : i+1]} }

// CreateSessions makes sessions, spread over the organizations of the part.
func (p Part) CreateSessions(ctx context.Context, count int) ([]*ProductSession, error) {
	if err := p.product.renew(ctx); err != nil {
		return nil, err
	}
	sessions := make([]*ProductSession, count)
	for i := range sessions {
		o := p.orgs[i%len(p.orgs)]
		api := o.api
		if p.url != "" {
			api = api.At(p.url)
		}
		var out struct {
			CreateSession struct{ Session struct{ ID string } }
		}
		err := api.Do(ctx, `mutation($input: CreateSessionInput!) { createSession(input: $input) { session { id } userErrors { code message path } } }`,
			map[string]any{"input": map[string]any{"agentId": o.agent}}, &out)
		if err != nil {
			return nil, fmt.Errorf("create a session: %w", err)
		}
		sessions[i] = &ProductSession{ID: out.CreateSession.Session.ID, API: api}
		if sessions[i].toolBody, err = sendBody(sessions[i].ID, p.product.setup.ToolMessage, Steer); err != nil {
			return nil, err
		}
		if sessions[i].textBody, err = sendBody(sessions[i].ID, p.product.setup.TextMessage, Steer); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// Open makes a session per listener, each with a socket and a live subscriber of its own.
func (p Part) Open(ctx context.Context, listeners []Listener) ([]Session, error) {
	created, err := p.CreateSessions(ctx, len(listeners))
	if err != nil {
		return nil, err
	}
	sessions := make([]Session, 0, len(listeners))
	for i, s := range created {
		if err := s.subscribe(ctx, listeners[i]); err != nil {
			for _, open := range sessions {
				open.Close()
			}
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// PageOfAgents fetches the first page of agents, as a dashboard does when it opens.
func PageOfAgents(ctx context.Context, api *API) error {
	var out struct {
		Agents *struct{ Nodes []struct{ ID string } }
	}
	if err := api.Do(ctx, `{ agents(first: `+strconv.Itoa(20)+`) { nodes { id name revision } pageInfo { hasNextPage } } }`, nil, &out); err != nil {
		return err
	}
	if out.Agents == nil {
		return errors.New("no list of agents")
	}
	return nil
}
