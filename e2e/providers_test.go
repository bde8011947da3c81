package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// providerKinds are the kinds of providers with what goes behind the address of a server, and with what a provider of that kind
// gives along with its thinking as it is seen on the wire.
func providerKinds() map[string]struct{ base, seal string } {
	return map[string]struct{ base, seal string }{
		"ANTHROPIC":         {"", seal},
		"OPENAI":            {"/v1", seal},
		"OPENAI_COMPATIBLE": {"/v1", ""},
		"GEMINI":            {"", "c2VhbC05YzFkLW9mLXRoZS10aGlua2luZw=="},
	}
}

// loopback lets a process ask providers on this machine.
func loopback(p *place) map[string]string {
	return p.with(map[string]string{"OSTLER_EGRESS_ALLOW_LOOPBACK": "true"})
}

// provider adds a provider.
func (c *client) provider(t *testing.T, name, kind, url, key string) string {
	t.Helper()
	var made struct {
		CreateProvider struct{ Provider struct{ ID string } }
	}
	c.do(t, `mutation($input: CreateProviderInput!) { createProvider(input: $input) { provider { id } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{"name": name, "kind": kind, "baseUrl": url, "apiKey": key}}, &made)
	return made.CreateProvider.Provider.ID
}

// modelOf adds a model to a provider.
func (c *client) modelOf(t *testing.T, provider, name string) string {
	t.Helper()
	var made struct {
		CreateModel struct{ Model struct{ ID string } }
	}
	c.do(t, `mutation($input: CreateModelInput!) { createModel(input: $input) { model { id } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{
			"providerId": provider, "name": name, "price": map[string]any{"input": "1", "output": "2", "cacheRead": "0.1", "cacheWrite": "1.25"},
		}}, &made)
	return made.CreateModel.Model.ID
}

// agentOn makes an agent with tools for files, that asks these models in this order.
func (c *client) agentOn(t *testing.T, name string, models ...string) string {
	t.Helper()
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	c.do(t, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } userErrors { code message path } } }`,
		map[string]any{"input": map[string]any{
			"name": name, "systemPrompt": "Be brief.", "capabilities": []any{map[string]any{"id": "files"}},
			"defaultModelId": models[0], "fallbackModelIds": models[1:],
		}}, &made)
	return made.CreateAgent.Agent.ID
}

// usageOf is what a turn has used.
func (c *client) usageOf(t *testing.T, turn string) map[string]any {
	t.Helper()
	var out struct {
		Turn struct{ Usage map[string]any }
	}
	c.do(t, `query($id: ID!) { turn(id: $id) { usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens reasoningTokens costUsd } } }`,
		map[string]any{"id": turn}, &out)
	return out.Turn.Usage
}

// TestProviders runs a turn with every kind of provider: text, thinking, calls in parallel, an image, usage and its cost. What the provider
// gives along with its thinking is given back to it and shown to nobody else.
func TestProviders(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, loopback(place))
		c := signIn(t, p)
		content := onePixel(t)
		for kind, at := range providerKinds() {
			fake := newFakeProvider(t)
			agent := c.agentOn(t, "with-"+strings.ToLower(kind), c.modelOf(t, c.provider(t, kind, kind, fake.URL+at.base, providerKey), "big-model"))
			session := c.session(t, agent)
			s := c.subscribe(t, session, 0)
			var sent struct {
				SendMessage struct{ Turn struct{ ID string } }
			}
			c.do(t, `mutation($input: SendMessageInput!) { sendMessage(input: $input) { turn { id } userErrors { code message path } } }`,
				map[string]any{"input": map[string]any{"sessionId": session, "content": []any{
					map[string]any{"text": "Write two files."}, map[string]any{"imageId": c.upload(t, content)},
				}}}, &sent)
			seen := s.untilKind(t, "SESSION_IDLED", 1)
			gapless(t, seen, 0)
			deltasAddUp(t, seen)
			log := c.history(t, session)
			balanced(t, log)
			got := c.turn(t, sent.SendMessage.Turn.ID)
			if got.Status != "COMPLETED" || got.FinalMessage == nil || got.FinalMessage.Content[0].Text != "Both files are there." {
				t.Errorf("%s: the turn is %+v with %+v", kind, got, got.Error)
				continue
			}
			if count(log, "TOOL_COMPLETED") != 2 || count(log, "THINKING_COMPLETED") != 1 || count(log, "FILE_WRITTEN") != 2 {
				t.Errorf("%s: the log is %v", kind, log)
			}
			asked := fake.bodies()
			if len(asked) != 2 || !strings.Contains(asked[0], base64.StdEncoding.EncodeToString(content)) || !strings.Contains(asked[1], at.seal) {
				t.Errorf("%s: the provider was asked:\n%s", kind, strings.Join(asked, "\n\n"))
			}
			for _, e := range append(seen, log...) {
				if at.seal != "" && strings.Contains(string(e.Data), at.seal) {
					t.Errorf("%s: %s shows what only the provider may see: %s", kind, e, e.Data)
				}
			}
			usage := c.usageOf(t, sent.SendMessage.Turn.ID)
			if usage["cacheReadTokens"] != 40.0 || usage["costUsd"] == nil || usage["costUsd"] == "0" {
				t.Errorf("%s: the usage is %v", kind, usage)
			}
		}
		if strings.Contains(p.out.String(), providerKey) {
			t.Error("the key is in the log")
		}
	})
}

// TestFailingProviders has calls fail in the two ways that matter to users: for a while, and for good.
func TestFailingProviders(t *testing.T) {
	t.Parallel()
	place := newPlace(t, "sqlite")
	c := signIn(t, start(t, loopback(place)))
	for kind, at := range providerKinds() {
		fake := newFakeProvider(t)
		good := c.modelOf(t, c.provider(t, "good "+kind, kind, fake.URL+at.base, providerKey), "big-model")
		bad := c.modelOf(t, c.provider(t, "bad "+kind, kind, fake.URL+at.base, "another-key"), "big-model")

		// It is overloaded once, and answers when it is asked again.
		session := c.session(t, c.agentOn(t, "good-"+strings.ToLower(kind), good))
		fake.fail(http.StatusServiceUnavailable)
		s := c.subscribe(t, session, 0)
		s.untilKind(t, "CAUGHT_UP", 1) // that a call is tried again is told live, and to nobody who comes later
		turn := c.message(t, session, "Write two files.")
		seen := s.untilKind(t, "SESSION_IDLED", 1)
		if got := c.turn(t, turn); got.Status != "COMPLETED" || count(seen, "GENERATION_RETRYING") != 1 {
			t.Errorf("%s: the turn is %+v after %v", kind, got, seen)
		}

		// Its key is wrong: that fails at once, and says what to do.
		session = c.session(t, c.agentOn(t, "bad-"+strings.ToLower(kind), bad))
		s = c.subscribe(t, session, 0)
		turn = c.message(t, session, "Write two files.")
		seen = s.untilKind(t, "SESSION_IDLED", 1)
		got := c.turn(t, turn)
		if got.Status != "FAILED" || got.Error == nil || got.Error.Code != "provider_misconfigured" || strings.Contains(got.Error.Message, "another-key") ||
			count(seen, "GENERATION_RETRYING") != 0 {
			t.Errorf("%s: the turn is %+v with %+v after %v", kind, got, got.Error, seen)
		}
	}
}

// TestTestingAKey asks providers for their models, with the right key and with a wrong one.
func TestTestingAKey(t *testing.T) {
	t.Parallel()
	place := newPlace(t, "sqlite")
	c := signIn(t, start(t, loopback(place)))
	for kind, at := range providerKinds() {
		fake := newFakeProvider(t)
		provider := c.provider(t, kind, kind, fake.URL+at.base, providerKey)
		for key, want := range map[string]string{"": "true", "another-key": "provider_misconfigured"} {
			input := map[string]any{"id": provider}
			if key != "" {
				input["apiKey"] = key
			}
			var out struct {
				TestProvider struct {
					Ok    bool
					Error *struct{ Code, Message string }
				}
			}
			c.do(t, `mutation($input: TestProviderInput!) { testProvider(input: $input) { ok error { code message } userErrors { code message path } } }`,
				map[string]any{"input": input}, &out)
			got := fmt.Sprint(out.TestProvider.Ok)
			if out.TestProvider.Error != nil {
				got = out.TestProvider.Error.Code
			}
			if got != want {
				t.Errorf("%s with key %q: %s, want %s: %+v", kind, key, got, want, out.TestProvider.Error)
			}
		}
		var found struct {
			DiscoverModels struct{ Models []struct{ Name string } }
		}
		c.do(t, `mutation($id: ID!) { discoverModels(providerId: $id) { models { name } userErrors { code message path } } }`, map[string]any{"id": provider}, &found)
		if len(found.DiscoverModels.Models) != 1 || found.DiscoverModels.Models[0].Name != "big-model" {
			t.Errorf("%s lists %+v", kind, found)
		}
	}
}
