package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
)

const (
	ownerEmail    = "owner@chaos.invalid"
	ownerPassword = "correct horse battery staple"

	// orgCount is how many organizations share the load.
	orgCount = 4
	// tokenLife is when tokens are renewed: well before their 15 minutes are over.
	tokenLife = 8 * time.Minute
)

// people are the callers: the owner of some organizations, with a token for each.
type people struct {
	a    *arena
	http *client.API // for its connections only

	mu    sync.Mutex
	orgs  []*org
	since time.Time // of the tokens
}

type org struct{ id, agent, token string }

const errorsWanted = ` userErrors { code message path }`

// signUp makes the organizations and their agents, while nothing is broken.
func (a *arena) signUp(ctx context.Context) (*people, error) {
	p := &people{a: a, http: client.NewAPI("")}
	owner, err := p.signIn(ctx)
	if err != nil {
		return nil, err
	}
	for i := range orgCount {
		var made struct {
			CreateOrg struct{ Org struct{ ID string } }
		}
		err := owner.Do(ctx, `mutation($input: CreateOrgInput!) { createOrg(input: $input) { org { id }`+errorsWanted+` } }`,
			map[string]any{"input": map[string]any{"name": fmt.Sprintf("Chaos %d", i)}}, &made)
		if err != nil {
			return nil, fmt.Errorf("make an organization: %w", err)
		}
		o := &org{id: made.CreateOrg.Org.ID}
		if o.token, err = switchTo(ctx, owner, o.id); err != nil {
			return nil, err
		}
		if err := makeAgent(ctx, owner.As(o.token), o); err != nil {
			return nil, fmt.Errorf("make an agent: %w", err)
		}
		p.orgs = append(p.orgs, o)
	}
	p.since = time.Now()
	return p, nil
}

func (p *people) signIn(ctx context.Context) (*client.API, error) {
	var err error
	for range 2 * len(p.a.nodes) {
		api := p.http.At(p.a.pick(nil).url())
		var token string
		if token, _, err = client.SignIn(ctx, api, ownerEmail, ownerPassword); err == nil {
			return api.As(token), nil
		}
	}
	return nil, err
}

func switchTo(ctx context.Context, owner *client.API, id string) (string, error) {
	var out struct {
		SwitchOrg struct{ Tokens struct{ AccessToken string } }
	}
	err := owner.Do(ctx, `mutation($id: ID!) { switchOrg(orgId: $id) { tokens { accessToken }`+errorsWanted+` } }`, map[string]any{"id": id}, &out)
	return out.SwitchOrg.Tokens.AccessToken, err
}

// makeAgent makes an agent that plays scripts and has the tools of the chaos build.
func makeAgent(ctx context.Context, api *client.API, o *org) error {
	var providers struct {
		Providers struct {
			Nodes []struct{ ID, Kind string }
		}
		Models struct {
			Nodes []struct{ ID, Name string }
		}
	}
	if err := api.Do(ctx, `{ providers(first: 100) { nodes { id kind } } models(first: 100) { nodes { id name } } }`, nil, &providers); err != nil {
		return err
	}
	model := ""
	for _, m := range providers.Models.Nodes {
		if m.Name == "sim-script" {
			model = m.ID
		}
	}
	for _, provider := range providers.Providers.Nodes {
		if provider.Kind != "SIMULATED" || model != "" {
			continue
		}
		var made struct {
			CreateModel struct{ Model struct{ ID string } }
		}
		err := api.Do(ctx, `mutation($input: CreateModelInput!) { createModel(input: $input) { model { id }`+errorsWanted+` } }`,
			map[string]any{"input": map[string]any{"providerId": provider.ID, "name": "sim-script", "price": map[string]any{"input": "1", "output": "5"}}}, &made)
		if err != nil {
			return err
		}
		model = made.CreateModel.Model.ID
	}
	if model == "" {
		return errors.New("there is no simulated provider")
	}
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	err := api.Do(ctx, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id }`+errorsWanted+` } }`,
		map[string]any{"input": map[string]any{
			"name": "chaos", "systemPrompt": "Answer.", "defaultModelId": model,
			"capabilities": []any{map[string]any{"id": "core"}, map[string]any{"id": "chaos"}},
		}}, &made)
	o.agent = made.CreateAgent.Agent.ID
	return err
}

// at gives the API of a node with a valid token of an organization.
func (p *people) at(ctx context.Context, n *node, o *org) (*client.API, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.since) > tokenLife {
		owner, err := p.signIn(ctx)
		if err != nil {
			return nil, err
		}
		for _, each := range p.orgs {
			if each.token, err = switchTo(ctx, owner, each.id); err != nil {
				return nil, err
			}
		}
		p.since = time.Now()
	}
	return p.http.At(n.url()).As(o.token), nil
}

// pick gives a random node that is not known to be away, another one than before if there is one.
func (a *arena) pick(before *node) *node {
	var open []*node
	for _, n := range a.nodes {
		if n != before && !n.away.Load() {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		if before != nil {
			return before
		}
		open = a.nodes
	}
	return open[a.roll(0, len(open)-1)]
}
