package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/graph/model"
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
