package e2e

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"maps"
	"net/http"
	"strings"
	"testing"
)

func onePixel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fetch makes a request beside GraphQL.
func (c *client) fetch(t *testing.T, method, path string, body []byte) *reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	return must(c.Fetch(req))(t)
}

// upload returns the id of a stored image.
func (c *client) upload(t *testing.T, content []byte) string {
	t.Helper()
	r := c.fetch(t, http.MethodPost, "/v1/images?name=pixel.png", content)
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(r.Body, &made); err != nil || r.Status != http.StatusCreated {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
	return made.ID
}

// TestImages sends an image to an agent, and sees it in the conversation: the person who sent it, and nobody of another organization.
func TestImages(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		other := c.secondOrg(t, p, "Second")
		content := onePixel(t)
		id := c.upload(t, content)
		session := c.session(t, c.agent(t, "echo", "sim-echo"))
		s := c.subscribe(t, session, 0)
		c.do(t, send, map[string]any{"input": map[string]any{"sessionId": session, "content": []any{
			map[string]any{"text": "look"}, map[string]any{"imageId": id},
		}}}, nil)
		s.untilKind(t, "SESSION_IDLED", 1)
		var found struct {
			Session struct {
				Messages struct {
					Nodes []struct {
						Role    string
						Content []struct{ Text, ImageID, MediaType, URL string }
					}
				}
			}
		}
		c.do(t, `query($id: ID!) { session(id: $id) { messages(first: 10) { nodes { role content { ... on TextPart { text } ... on ImagePart { imageId mediaType url } } } } } }`,
			map[string]any{"id": session}, &found)
		list := found.Session.Messages.Nodes
		if len(list) != 2 || len(list[0].Content) != 2 || list[0].Content[1].ImageID != id || list[0].Content[1].MediaType != "image/png" ||
			list[1].Content[0].Text != "look\n[image/png]" {
			t.Fatalf("the conversation is %+v", list)
		}
		url := list[0].Content[1].URL
		if r := c.fetch(t, http.MethodGet, url, nil); r.Status != http.StatusOK || !bytes.Equal(r.Body, content) || r.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %d, %d bytes", url, r.Status, len(r.Body))
		}
		foreign, unknown := other.fetch(t, http.MethodGet, url, nil), other.fetch(t, http.MethodGet, "/v1/images/img_"+strings.Repeat("0", 32), nil)
		if foreign.Status != http.StatusNotFound || string(foreign.Body) != string(unknown.Body) || unknown.Status != http.StatusNotFound {
			t.Errorf("foreign: %d %s; unknown: %d %s", foreign.Status, foreign.Body, unknown.Status, unknown.Body)
		}
	})
}

// TestProvidersAreTestedAndDiscovered does it with the provider that needs no network.
func TestProvidersAreTestedAndDiscovered(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		const key = "sk-of-the-environment"
		env := maps.Clone(place.env)
		env["ANTHROPIC_API_KEY"] = key
		p := start(t, env)
		c := signIn(t, p)
		var found struct {
			Made struct {
				Provider struct {
					ID             string
					HasCredentials bool
				}
			}
			Test struct {
				Ok     bool
				Models int
			}
			Providers struct{ Nodes []struct{ ID, Kind string } }
			Found     struct {
				Models []struct {
					Name  string
					Model *struct{ Name string }
				}
			}
		}
		c.do(t, `mutation { made: createProvider(input: {name: "Anthropic", kind: ANTHROPIC}) { provider { id hasCredentials } userErrors { code message } }
			test: testProvider(input: {kind: SIMULATED}) { ok models userErrors { code message } } }`, nil, &found)
		if !found.Made.Provider.HasCredentials || !found.Test.Ok || found.Test.Models != 5 {
			t.Errorf("%+v", found)
		}
		c.do(t, `{ providers { nodes { id kind } } }`, nil, &found)
		for _, n := range found.Providers.Nodes {
			if n.Kind != "SIMULATED" {
				continue
			}
			c.do(t, `mutation($id: ID!) { found: discoverModels(providerId: $id) { models { name model { name } } userErrors { code message } } }`, map[string]any{"id": n.ID}, &found)
		}
		if m := found.Found.Models; len(m) != 5 || m[0].Model == nil || m[0].Model.Name != m[0].Name {
			t.Errorf("found %+v", m)
		}
		if strings.Contains(p.out.String(), key) {
			t.Error("the key of the environment is in the log")
		}
	})
}
