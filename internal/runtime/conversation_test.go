package runtime

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/turns"
)

func textParts(s string) []models.Part { return []models.Part{{Type: models.PartText, Text: s}} }

func saidBy(list []llm.Message) string {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(string(m.Role[0]))
		for _, p := range m.Parts {
			b.WriteString(p.Text + p.Error)
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func TestConversationOrder(t *testing.T) {
	c := &conversation{}
	c.add(3, 0, models.MessageUser, textParts("a"))
	c.add(8, 0, models.MessageAgent, textParts("calls"))
	// Results come as the calls end.
	c.add(11, 2, models.MessageTool, textParts("two"))
	c.add(11, 0, models.MessageTool, textParts("zero"))
	c.add(11, 1, models.MessageTool, textParts("one"))
	c.add(11, 1, models.MessageTool, textParts("one, read again"))
	// Messages that joined together have one place.
	c.add(20, 0, models.MessageUser, textParts("b"))
	c.add(20, 0, models.MessageUser, textParts("c"))
	c.add(20, 0, models.MessageUser, textParts("d"))
	c.add(25, 0, models.MessageAgent, nil)
	if got, want := saidBy(c.messages(1<<20, "")), "Ua Acalls Tzero Tone Ttwo Ub Uc Ud"; got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
	if c.through() != 25 {
		t.Errorf("it is known through %d", c.through())
	}
}

// What is shown leaves room for the longest answer: servers refuse a request that could not be answered in full, and would refuse every
// later one of the session.
func TestContextLeavesRoomForTheAnswer(t *testing.T) {
	for _, tt := range []struct{ window, answer, tokens int }{
		{200_000, 0, 150_000}, {200_000, 50_000, 150_000}, {400_000, 128_000, 272_000}, {8_000, 4_000, 4_000}, {8_000, 8_000, 2_000},
	} {
		m := &models.Model{ContextWindowTokens: &tt.window, MaxOutputTokens: &tt.answer}
		eff := &catalog.Effective{SystemPrompt: "be brief"}
		if got := contextBytes(eff, m) + len(eff.SystemPrompt); got != tt.tokens*bytesPerToken {
			t.Errorf("of a window of %d with answers of %d, %d bytes are for the rest", tt.window, tt.answer, got)
		}
	}
}

// Rules: P11, P19.
func TestConversationWindow(t *testing.T) {
	c := &conversation{}
	add := func(position int64, role models.MessageRole, s string) { c.add(position, 0, role, textParts(s)) }
	add(1, models.MessageUser, "old "+strings.Repeat("x", 1000))
	add(2, models.MessageAgent, "old")
	add(3, models.MessageUser, "ask")
	for i := range int64(5) {
		add(10+2*i, models.MessageAgent, fmt.Sprintf("call%d", i))
		add(11+2*i, models.MessageTool, fmt.Sprintf("got%d", i)+strings.Repeat("y", 1000))
	}
	for _, w := range []struct {
		limit int
		want  string
		from  int64
	}{
		{100_000, "Uold", 1}, {7_000, "Uold", 1}, {6_000, "Uask Acall0", 3}, {3_000, "Uask Acall3", 3}, {1_500, "Uask Acall4", 3},
		// Not even the newest step fits. Without it there is nothing to go on from.
		{10, "Uask Acall4", 3},
	} {
		if from, n := c.extent(w.limit); from != w.from || n != len(c.messages(w.limit, "")) {
			t.Errorf("within %d bytes %d are shown, from %d on", w.limit, n, from)
		}
		if got := saidBy(c.messages(w.limit, "")); !strings.HasPrefix(got, w.want) {
			t.Errorf("within %d bytes shown is %.40q, want it to begin with %q", w.limit, got, w.want)
		}
	}
	if got := (&conversation{}).messages(10, ""); len(got) != 0 {
		t.Errorf("nothing gives %v", got)
	}
}

// TestConversationIsBounded plays very long conversations: what is kept is bounded, and nothing that is shown lacks its other half.
//
// Rules: P20.
func TestConversationIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &conversation{}
		position := int64(0)
		add := func(role models.MessageRole, ordinal int, part models.Part) {
			c.add(position, ordinal, role, []models.Part{part})
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			position++
			big := strings.Repeat("z", rapid.SampledFrom([]int{1, 1000, 300_000, 1_500_000}).Draw(t, "size"))
			if rapid.Bool().Draw(t, "by the user") {
				add(models.MessageUser, 0, models.Part{Type: models.PartText, Text: big})
				continue
			}
			id := fmt.Sprint(position)
			add(models.MessageAgent, 0, models.Part{Type: models.PartToolCall, ToolCallID: id})
			position++
			add(models.MessageTool, 0, models.Part{Type: models.PartToolResult, ToolCallID: id, Error: big})
		}
		if c.bytes > maxConversation+4_000_000 {
			t.Fatalf("%d bytes are kept", c.bytes)
		}
		for _, limit := range []int{100, 10_000, 400_000, maxConversation} {
			list := c.messages(limit, "")
			if len(list) == 0 {
				t.Fatal("nothing is shown")
			}
			open := ""
			for i, m := range list {
				p := m.Parts[0]
				switch m.Role {
				case models.MessageTool:
					if p.ToolCallID != open {
						t.Fatalf("message %d is the result of %s, open is %q", i, p.ToolCallID, open)
					}
					open = ""
				case models.MessageAgent:
					open = p.ToolCallID
				case models.MessageUser:
				}
			}
			if open != "" {
				t.Fatalf("call %s has no result", open)
			}
		}
	})
}

// TestConversationIsReadInPages has more messages than a page at one position, and across pages.
//
// Rules: P19.
func TestConversationIsReadInPages(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		n := w.newNode()
		s := w.newSession(n)
		// The engine does not run yet, so that all of them wait.
		var want []string
		for i := range 2*messagesPage + 7 {
			want = append(want, fmt.Sprintf("Um%d", i))
			n.send(s, fmt.Sprintf("m%d", i))
		}
		if err := n.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.puppet.on(echoing)
		w.idle(s)
		for i := range 3 {
			want = append(want, "Aok", fmt.Sprintf("Uagain%d", i))
			n.deliver(sessions.NewMessage{SessionID: s, Content: []sessions.NewPart{sessions.Text(fmt.Sprintf("again%d", i))}, Delivery: turns.Queue})
			w.idle(s)
		}
		requests := n.puppet.requests()
		if got := saidBy(requests[len(requests)-1].Messages); got != strings.Join(want, " ") {
			t.Errorf("shown is\n%s, want\n%s", got, strings.Join(want, " "))
		}
		// All of a page has one position, and no more fits.
		messages, more, err := n.engine.rows.messages(t.Context(), w.org, s, 0, 0, 1)
		if err != nil || len(messages) != messagesPage || !more {
			t.Errorf("read are %d messages, more %v, %v", len(messages), more, err)
		}
	})
}
