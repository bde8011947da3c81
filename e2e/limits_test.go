package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestLimitsOfTwoNodes has an operator set limits of an organization at one node, and looks what another one makes of them.
func TestLimitsOfTwoNodes(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	first, second := cluster.api(t), cluster.api(t)
	operator := signIn(t, first)
	here := operator.secondOrg(t, first, "Acme")
	there := here.at(second)

	// Who is no operator may not, whatever the organization.
	key, _ := here.apiKey(t, "ORG_READ", "ORG_MANAGE")
	const set = `mutation($id: ID!, $in: OrgLimitsInput!) { updateOrgLimits(orgId: $id, input: $in) { org { limits { sessions } } userErrors { code message path } } }`
	for _, id := range []string{here.Org, operator.Org} {
		if err := key.try(set, map[string]any{"id": id, "in": map[string]any{"sessions": 0}}, nil); err == nil || !strings.HasPrefix(err.Error(), "FORBIDDEN") {
			t.Fatalf("a key: %v", err)
		}
	}
	operator.do(t, set, map[string]any{"id": here.Org, "in": map[string]any{"sessions": 1, "sockets": 1}}, nil)
	eventually(t, "the other node knows the new limits", func() error {
		var out struct {
			Org struct {
				Limits struct{ Sessions, Sockets int }
			}
		}
		there.do(t, `{ org { limits { sessions sockets } } }`, nil, &out)
		if l := out.Org.Limits; l.Sessions != 1 || l.Sockets != 1 {
			return fmt.Errorf("it shows %+v", l)
		}
		return nil
	})

	// Sessions.
	agent := here.agent(t, "echo", "sim-echo")
	here.session(t, agent)
	const create = `mutation($id: ID!) { createSession(input: {agentId: $id}) { session { id } userErrors { code message path } } }`
	if err := there.try(create, map[string]any{"id": agent}, nil); err == nil || !strings.Contains(err.Error(), "LIMIT_REACHED") {
		t.Errorf("a second session: %v", err)
	}
	operator.at(second).session(t, operator.agent(t, "echo", "sim-echo"))

	// Sockets: the one at the first node counts at the second, until the first has stopped.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	one, err := here.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = one.Conn.CloseNow() }()
	if _, err := there.Connect(ctx); websocket.CloseStatus(err) != 4429 {
		t.Errorf("a second socket: %v", err)
	}

	says(t, done(t, cluster.env, "admin", "limits", "acme", "requestsPerMinute=20", "sessions=default"),
		"requestsPerMinute=20", "sessions=1000000  (default)", "sockets=1\n")
	says(t, refused(t, cluster.env, "admin", "limits", "acme", "cars=1"), "cars", "requestsPerMinute")
	says(t, refused(t, cluster.env, "admin", "limits", "nobody", "sessions=1"), "nobody")
	first.terminate(t)
	eventually(t, "the socket of the node that has stopped counts no more", func() error {
		conn, err := there.Connect(ctx)
		if err == nil {
			_ = conn.Conn.CloseNow()
		}
		return err
	})
	let := 0
	for range 60 {
		r, err := there.send(document(`{ org { id } }`, nil))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == http.StatusOK {
			let++
			continue
		}
		wait, err := strconv.Atoi(r.Header.Get("Retry-After"))
		if r.Status != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 60 || r.Errors[0].Code() != "RATE_LIMITED" ||
			r.Errors[0].Extensions["retryAfterSeconds"] != float64(wait) {
			t.Fatalf("%d %v: %s", r.Status, r.Header, r.Body)
		}
	}
	if let > 40 { // a minute may have ended meanwhile
		t.Errorf("%d requests were let in, where 20 may be made in a minute", let)
	}
	operator.at(second).do(t, `{ org { id } }`, nil, nil)
}
