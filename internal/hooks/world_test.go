package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

// secret stands for the secrets of organizations.
type secret string

func (s secret) HookSecret(context.Context, models.OrgID) ([]byte, error) {
	if s == "" {
		return nil, errors.New("the database at 10.1.2.3 is gone")
	}
	return []byte(s), nil
}

func now() time.Time { return time.Unix(1_800_000_000, 123_000_000) }

// runner returns a Runner that reaches servers on this machine.
func runner(t testing.TB, change func(*hooks.Config)) *hooks.Runner {
	t.Helper()
	expressions, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	client := egress.New(egress.Config{AllowLoopback: true})
	t.Cleanup(client.CloseIdleConnections)
	cfg := hooks.Config{Client: client.HTTP(), Secrets: secret("shh"), Expressions: expressions, Clock: clock.NewManual(now())}
	if change != nil {
		change(&cfg)
	}
	return hooks.NewRunner(cfg)
}

// got is a request that a receiver got.
type got struct {
	header http.Header
	body   []byte
}

// receiver is a webhook's server that answers with a text, and remembers what it was sent.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen []got
}

func receive(t testing.TB, answer func(w http.ResponseWriter, body []byte)) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		r.mu.Lock()
		r.seen = append(r.seen, got{req.Header.Clone(), body})
		r.mu.Unlock()
		answer(w, body)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.seen...)
}

func says(answer string) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, _ []byte) { _, _ = io.WriteString(w, answer) }
}

func webhook(event tools.HookEvent, url string) tools.HookSpec {
	return tools.HookSpec{ID: "c:h", Event: event, Webhook: &tools.WebhookExecutor{URL: url}}
}

func cel(id string, event tools.HookEvent, expression string) tools.HookSpec {
	return tools.HookSpec{ID: id, Event: event, CEL: &tools.CELExecutor{Expression: expression}}
}

var (
	orgID     = models.NewID[models.OrgEntity]()
	sessionID = models.NewID[models.SessionEntity]()
	turnID    = models.NewID[models.TurnEntity]()
	agentID   = models.NewID[models.AgentEntity]()
)

// happens returns an event of each kind.
func happens(name tools.HookEvent) hooks.Event {
	e := hooks.Event{Name: name, OrgID: orgID, SessionID: sessionID, Delivery: "turn_1:" + string(name)}
	if name != tools.HookSessionStart {
		e.TurnID, e.AgentID = &turnID, &agentID
	}
	switch name {
	case tools.HookUserPromptSubmit:
		e.Message = "Hello"
	case tools.HookPreToolUse, tools.HookPostToolUse:
		e.Call = &hooks.Call{ID: "call_1", Tool: "write_file", ToolID: "files.write_file", Arguments: json.RawMessage(`{"path":"/workspace/a","mode":"x"}`)}
		if name == tools.HookPostToolUse {
			e.Result = json.RawMessage(`{"size":3,"secret":"abc"}`)
		}
	case tools.HookTurnEnd:
		e.Success, e.StopReason = true, models.StopEndTurn
	case tools.HookSessionStart:
	}
	return e
}

func run(t testing.TB, r *hooks.Runner, e hooks.Event, specs ...tools.HookSpec) hooks.Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), e, specs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
