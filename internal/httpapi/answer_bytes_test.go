package httpapi

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/store"
)

// One long text under many aliases is refused by its bytes, as it would be written, and nothing of it is sent.
func TestAnswersAreBoundedByBytes(t *testing.T) {
	const most = 100_000
	b := setup(t, func(cfg *Config) { cfg.Limits.AnswerBytes = most })
	ask := func(name string, aliases int) answer {
		b.stub.agents = func(*int) *model.AgentConnection {
			return &model.AgentConnection{PageInfo: &model.PageInfo{}, Nodes: []*model.Agent{{ID: "agent_1", Name: name}}}
		}
		var doc strings.Builder
		doc.WriteString("{ agents(first: 1) { nodes {")
		for i := range aliases {
			doc.WriteString(" a" + string(rune('a'+i)) + ": name")
		}
		doc.WriteString(" } } }")
		return b.query(doc.String(), nil, with("Authorization", "Bearer good"))
	}
	for name, text := range map[string]string{"plain": strings.Repeat("x", most/10), "escaped": strings.Repeat("\x01", most/60)} {
		if got := ask(text, 9); len(got.errors) > 0 || len(got.body) < most*8/10 || !json.Valid([]byte(got.body)) {
			t.Errorf("%s: what fits is answered with %d bytes, %v", name, len(got.body), got.errors)
		}
		got := ask(text, 12)
		if got.code() != codeTooComplex || got.errors[0].Extensions["limit"] != "BYTES" || got.errors[0].Extensions["maximum"] != float64(most) ||
			len(got.errors) != 1 || got.hasData {
			t.Errorf("%s: what doesn't fit is answered with %d bytes, %v", name, len(got.body), got.errors)
		}
	}
}

// Large answers that nobody reads hold memory until they are read or given up. Who holds too much is refused, and nobody else.
func TestAnswersOfAnOrganizationAreBoundedTogether(t *testing.T) {
	const size, document = 8 << 20, `{agents(first:1){nodes{name}}}`
	b := limited(t, limits.Values{})
	b.server.engine.memory = newMemory(Limits{AnswerBytes: 2 * size, OperationsBytes: 8 * size})
	b.stub.agents = func(*int) *model.AgentConnection {
		return &model.AgentConnection{PageInfo: &model.PageInfo{}, Nodes: []*model.Agent{{ID: "agent_1", Name: strings.Repeat("x", size)}}}
	}
	held := func(answers int) func() bool {
		each := (size - 128<<10 + store.MemoryStep) / store.MemoryStep
		return func() bool { return b.server.engine.memory.Held(b.org("good")) == answers*each }
	}
	for name, begin := range map[string]func() (end func()){
		"requests": func() func() {
			var all []*net.TCPConn
			for range 6 {
				conn := b.raw()
				_ = conn.SetReadBuffer(4096)
				body := `{"query":"` + document + `"}`
				_, _ = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: ostler.test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
					len(body), body)
				all = append(all, conn)
			}
			return func() {
				for _, conn := range all {
					_ = conn.Close()
				}
			}
		},
		"a socket": func() func() {
			c := b.dial().hello()
			for i := range 6 {
				c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"%s"}}`, i, document))
			}
			return func() { _ = c.conn.CloseNow() }
		},
	} {
		end := begin()
		b.eventually(name+" whose answers wait", held(6))
		b.wantWait(b.query(document, nil, signedIn), "1")
		if a := b.query(document, nil, theirs); len(a.errors) > 0 || len(a.body) < size {
			t.Errorf("%s: another organization is answered %d, %v", name, a.status, a.errors)
		}
		if a := b.query("{viewer{operator}}", nil, signedIn); len(a.errors) > 0 {
			t.Errorf("%s: a small answer is refused: %v", name, a.errors)
		}
		end()
		b.eventually(name+" that have ended", held(0))
		if a := b.query(document, nil, signedIn); len(a.errors) > 0 || len(a.body) < size {
			t.Errorf("%s: afterwards: %d, %v", name, a.status, a.errors)
		}
		b.eventually(name+": an answer that was read", held(0))
	}
}
