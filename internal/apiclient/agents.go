package apiclient

import (
	"context"
	"errors"
)

// SendMessage is the mutation that sends $input: SendMessageInput! and selects the turn that carries the message.
const SendMessage = `mutation($input: SendMessageInput!) { sendMessage(input: $input) { turn { id } userErrors { code message path } } }`

// Model returns the id of the model of that name. When there is none, it makes a simulated one, with that price unless it is nil.
func (c *Client) Model(ctx context.Context, name string, price any) (string, error) {
	var have struct {
		Models struct {
			Nodes []struct {
				ID, Name string
				Provider struct{ ID, Kind string }
			}
		}
	}
	if err := c.Do(ctx, `{ models(first: 100) { nodes { id name provider { id kind } } } }`, nil, &have); err != nil {
		return "", err
	}
	provider := ""
	for _, m := range have.Models.Nodes {
		if m.Name == name {
			return m.ID, nil
		}
		if m.Provider.Kind == "SIMULATED" {
			provider = m.Provider.ID
		}
	}
	if provider == "" {
		return "", errors.New("no model of a simulated provider")
	}
	input := map[string]any{"providerId": provider, "name": name}
	if price != nil {
		input["price"] = price
	}
	var made struct {
		CreateModel struct{ Model struct{ ID string } }
	}
	err := c.Do(ctx, `mutation($input: CreateModelInput!) { createModel(input: $input) { model { id } userErrors { code message path } } }`,
		map[string]any{"input": input}, &made)
	return made.CreateModel.Model.ID, err
}

// CreateAgent makes an agent of a CreateAgentInput and returns its id.
func (c *Client) CreateAgent(ctx context.Context, input map[string]any) (string, error) {
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	err := c.Do(ctx, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { code message path } } }`,
		map[string]any{"input": input}, &made)
	return made.CreateAgent.Agent.ID, err
}

// CreateSession makes a session of an agent and returns its id.
func (c *Client) CreateSession(ctx context.Context, agent string) (string, error) {
	var made struct {
		CreateSession struct{ Session struct{ ID string } }
	}
	err := c.Do(ctx, `mutation($id: ID!) { createSession(input: {agentId: $id}) { session { id } userErrors { code message path } } }`,
		map[string]any{"id": agent}, &made)
	return made.CreateSession.Session.ID, err
}
