package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/internal/apiclient"
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
	http *apiclient.Client // for its connections only

	mu    sync.Mutex
	orgs  []*org
	since time.Time // of the tokens
}

type org struct {
	id, agent string
	tokens    apiclient.Tokens
}

const errorsWanted = ` userErrors { code message path }`

// signUp makes the organizations and their agents, while nothing is broken.
func (a *arena) signUp(ctx context.Context) (*people, error) {
	p := &people{a: a, http: apiclient.New("")}
	owner, err := p.signIn(ctx)
	if err != nil {
		return nil, err
	}
	for i := range orgCount {
		o := &org{}
		if o.id, err = owner.CreateOrg(ctx, fmt.Sprintf("Chaos %d", i)); err != nil {
			return nil, fmt.Errorf("make an organization: %w", err)
		}
		if o.tokens, err = owner.SwitchOrg(ctx, o.id); err != nil {
			return nil, err
		}
		if o.agent, err = makeAgent(ctx, owner.With(o.tokens)); err != nil {
			return nil, fmt.Errorf("make an agent: %w", err)
		}
		p.orgs = append(p.orgs, o)
	}
	p.since = time.Now()
	return p, nil
}

func (p *people) signIn(ctx context.Context) (*apiclient.Client, error) {
	var err error
	for range 2 * len(p.a.nodes) {
		api := p.http.At(p.a.pick(nil).url())
		var tokens apiclient.Tokens
		if tokens, err = api.SignIn(ctx, ownerEmail, ownerPassword); err == nil {
			return api.With(tokens), nil
		}
	}
	return nil, err
}

// makeAgent makes an agent that plays scripts and has the tools of the chaos build.
func makeAgent(ctx context.Context, api *apiclient.Client) (string, error) {
	model, err := api.Model(ctx, "sim-script", client.Price)
	if err != nil {
		return "", err
	}
	return api.CreateAgent(ctx, map[string]any{
		"name": "chaos", "systemPrompt": "Answer.", "defaultModelId": model,
		"capabilities": []any{map[string]any{"id": "core"}, map[string]any{"id": "chaos"}},
	})
}

// at returns the API of a node with a valid token of an organization.
func (p *people) at(ctx context.Context, n *node, o *org) (*apiclient.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.since) > tokenLife {
		owner, err := p.signIn(ctx)
		if err != nil {
			return nil, err
		}
		for _, each := range p.orgs {
			if each.tokens, err = owner.SwitchOrg(ctx, each.id); err != nil {
				return nil, err
			}
		}
		p.since = time.Now()
	}
	return p.http.At(n.url()).With(o.tokens), nil
}

// pick returns a random node that is not known to be away, another one than before if there is one.
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
