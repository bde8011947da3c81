package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// Price is that of the simulated models.
var Price = map[string]any{"input": "1", "output": "5"}

// Product is a signed-in caller with organizations of its own, each with an agent that answers without delay.
type Product struct {
	api   *apiclient.Client // as the owner, bound to the first organization
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
	api       *apiclient.Client
}

// tokenLife is when tokens are renewed: well before their 15 minutes are over.
const tokenLife = 8 * time.Minute

// Prepare signs in and makes the organizations and their agents.
func Prepare(ctx context.Context, url string, setup Setup) (*Product, error) {
	api := apiclient.New(url)
	tokens, err := api.SignIn(ctx, setup.Email, setup.Password)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	p := &Product{api: api.With(tokens), setup: setup, tokens: time.Now()}
	for i := range setup.Orgs {
		o, err := p.createOrg(ctx, i)
		if err != nil {
			return nil, fmt.Errorf("organization %d: %w", i, err)
		}
		p.orgs = append(p.orgs, o)
	}
	return p, nil
}

func (p *Product) createOrg(ctx context.Context, i int) (o *org, err error) {
	o = &org{}
	if o.id, err = p.api.CreateOrg(ctx, fmt.Sprintf("Bench %d", i)); err != nil {
		return nil, err
	}
	if err = p.switchTo(ctx, o); err != nil {
		return nil, err
	}
	model, err := o.api.Model(ctx, p.setup.Model, Price)
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
	o.agent, err = o.api.CreateAgent(ctx, input)
	return o, err
}

// switchTo gets tokens of the organization.
func (p *Product) switchTo(ctx context.Context, o *org) error {
	tokens, err := p.api.SwitchOrg(ctx, o.id)
	if err == nil && tokens.Org.ID != o.id {
		err = fmt.Errorf("switchOrg to %s returned a token for %s", o.id, tokens.Org.ID)
	}
	o.api = p.api.With(tokens)
	return err
}

// renew replaces tokens that are about to expire.
func (p *Product) renew(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.tokens) < tokenLife {
		return nil
	}
	tokens, err := p.api.As("").SignIn(ctx, p.setup.Email, p.setup.Password)
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	p.api = p.api.With(tokens)
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

// At returns the product at another node.
func (p *Product) At(url string) Part { return Part{product: p, url: url, orgs: p.orgs} }

// Org returns one organization of the product, by its number.
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
		id, err := api.CreateSession(ctx, o.agent)
		if err != nil {
			return nil, fmt.Errorf("create a session: %w", err)
		}
		sessions[i] = &ProductSession{ID: id, API: api}
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
func PageOfAgents(ctx context.Context, api *apiclient.Client) error {
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
