package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected is what a collector of traces has got.
type collected struct {
	mu   sync.Mutex
	all  []*spans.Span
	text strings.Builder
}

func newCollector(t *testing.T) (*collected, string) {
	t.Helper()
	c := &collected{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.text.WriteString(got.String())
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.all = append(c.all, scope.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	return c, server.URL
}

// paths returns the names of all spans, each behind those that it is in.
func (c *collected) paths() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*spans.Span{}
	for _, s := range c.all {
		byID[string(s.GetSpanId())] = s
	}
	paths := map[string]int{}
	for _, s := range c.all {
		path := s.GetName()
		for len(s.GetParentSpanId()) > 0 {
			if s = byID[string(s.GetParentSpanId())]; s == nil {
				path = "? > " + path
				break
			}
			path = s.GetName() + " > " + path
		}
		paths[path]++
	}
	return paths
}

func (c *collected) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// A whole program sends its traces where the standard variable says, and nothing that anybody said or signed in with.
func TestTraces(t *testing.T) {
	t.Parallel()
	const planted = "planted-secret"
	eachDatabase(t, func(t *testing.T, at *place) {
		c, url := newCollector(t)
		p := start(t, at.with(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "50"}))
		user := signIn(t, p)
		session := user.session(t, user.agent(t, planted, "sim-script", "core"))
		sub := user.subscribe(t, session, 0)
		user.message(t, session, `{"responses": [
			{"chunks": [{"text": "`+planted+`"}, {"tool_call": {"name": "write_todos", "arguments": {"todos": [{"content": "`+planted+`", "status": "pending"}]}}}]},
			{"chunks": [{"text": "`+planted+`"}]}]}`)
		sub.untilKind(t, "TURN_COMPLETED", 1)
		want := []string{
			"turn", "turn > reason", "turn > reason > model call", "turn > act", "turn > act > tool call",
			"graphql mutation", "graphql mutation > Mutation.sendMessage", "graphql mutation > Mutation.signIn",
		}
		if at.kind == "postgres" {
			want = append(want, "graphql mutation > Mutation.createAgent > SQL SELECT", "graphql mutation > Mutation.createAgent > SQL INSERT")
		}
		eventually(t, "all spans have come", func() error {
			paths := c.paths()
			for _, path := range want {
				if paths[path] == 0 {
					return fmt.Errorf("%q is missing: %v", path, paths)
				}
			}
			return nil
		})
		p.terminate(t)
		<-p.done
		for path := range c.paths() {
			if strings.HasPrefix(path, "?") || strings.HasPrefix(path, "SQL") {
				t.Errorf("a span is in none that was sent: %s", path)
			}
		}
		text := c.String()
		for _, secret := range []string{planted, ownerPassword, ownerEmail, user.Token, at.env["OSTLER_MASTER_KEY"]} {
			if strings.Contains(text, secret) {
				t.Errorf("the traces hold %q", secret)
			}
		}
		if !strings.Contains(text, session) {
			t.Error("the traces don't name the session")
		}
	})
}
