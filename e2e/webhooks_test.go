package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWebhooks has a real receiver told of turns of a real server: what it is sent is signed, and the same when it is sent again. Who may
// not manage webhooks sees none.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		type request struct {
			header http.Header
			body   string
		}
		told := make(chan request, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			told <- request{r.Header, string(body)}
			w.WriteHeader(http.StatusAccepted)
		}))
		t.Cleanup(receiver.Close)
		next := func() request {
			t.Helper()
			select {
			case r := <-told:
				return r
			case <-time.After(patience):
				t.Fatal("nothing was sent")
				return request{}
			}
		}
		p := start(t, loopback(place))
		c := signIn(t, p)
		var made struct {
			CreateWebhook struct {
				Secret  []byte
				Webhook struct{ ID string }
			}
		}
		c.do(t, `mutation($in: CreateWebhookInput!) { createWebhook(input: $in) { secret webhook { id } userErrors { code message } } }`,
			map[string]any{"in": map[string]any{"url": receiver.URL, "kinds": []string{"TURN_COMPLETED"}}}, &made)
		session := c.session(t, c.agent(t, "echo", "sim-echo"))
		turn := c.message(t, session, "hello")
		first := next()
		var body struct {
			ID        string `json:"id"`
			EventID   string `json:"eventId"`
			Kind      string `json:"kind"`
			OrgID     string `json:"orgId"`
			SessionID string `json:"sessionId"`
			TurnID    string `json:"turnId"`
			Position  int64  `json:"position"`
			Data      struct {
				StopReason string `json:"stopReason"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(first.body), &body); err != nil {
			t.Fatal(err)
		}
		if body.Kind != "TURN_COMPLETED" || body.OrgID != c.Org || body.SessionID != session || body.TurnID != turn || body.Position == 0 ||
			body.Data.StopReason != "END_TURN" || body.ID != first.header.Get("Ostler-Delivery") || first.header.Get("Ostler-Event") != body.Kind {
			t.Errorf("told was %s with %v", first.body, first.header)
		}
		stamp, signature, _ := strings.Cut(strings.TrimPrefix(first.header.Get("Ostler-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, made.CreateWebhook.Secret)
		mac.Write([]byte(stamp + "." + first.body))
		if want := hex.EncodeToString(mac.Sum(nil)); len(made.CreateWebhook.Secret) != 32 || signature != want {
			t.Errorf("the signature is %s, want %s with %s", signature, want, base64.StdEncoding.EncodeToString(made.CreateWebhook.Secret))
		}
		var log struct {
			Session struct {
				Events struct{ Nodes []struct{ ID string } }
			}
		}
		c.do(t, `query($id: ID!) { session(id: $id) { events(first: 1, kinds: [TURN_COMPLETED]) { nodes { id } } } }`, map[string]any{"id": session}, &log)
		if nodes := log.Session.Events.Nodes; len(nodes) != 1 || nodes[0].ID != body.EventID {
			t.Errorf("the event is %v, and told was %s", nodes, body.EventID)
		}
		c.do(t, `mutation($id: ID!) { replayDelivery(id: $id) { webhook { id } userErrors { code message } } }`, map[string]any{"id": body.ID}, nil)
		if again := next(); again.body != first.body || again.header.Get("Ostler-Delivery") != body.ID {
			t.Errorf("told again was %s", again.body)
		}

		// Who may not manage webhooks sees none, and one that was deleted is told nothing more.
		key, _ := c.apiKey(t, "ORG_READ", "SESSIONS_READ")
		for query, want := range map[string]string{
			fmt.Sprintf(`{ node(id: %q) { id } }`, made.CreateWebhook.Webhook.ID): `{"data":{"node":null}}`,
			`{ webhooks { id } }`: `"code":"FORBIDDEN"`,
			fmt.Sprintf(`mutation { replayDelivery(id: %q) { userErrors { code } } }`, body.ID): `"code":"FORBIDDEN"`,
		} {
			r, err := key.send(document(query, nil))
			if err != nil || !strings.Contains(string(r.Body), want) {
				t.Errorf("a key without WEBHOOKS_MANAGE asks %s and gets %s, %v", query, r.Body, err)
			}
		}
		c.do(t, `mutation($id: ID!) { deleteWebhook(id: $id) { deletedId userErrors { code message } } }`, map[string]any{"id": made.CreateWebhook.Webhook.ID}, nil)
		c.message(t, session, "nobody hears of this")
		if len(told) > 0 {
			t.Errorf("more was told: %v", <-told)
		}
	})
}
