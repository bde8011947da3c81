package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// texts puts messages together from deltas, as docs/subscriptions.md tells clients to, and compares them with what the log has in
// the end.
type texts map[string][]uint16

// delta takes a delta. It returns what is wrong with it; nothing when it fits.
func (m texts) delta(data []byte) string {
	var d struct {
		MessageID string
		Offset    int
		Delta     string
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Sprintf("a delta can't be read: %v: %s", err, data)
	}
	have := m[d.MessageID]
	if d.Offset < 0 || d.Offset > len(have) {
		return fmt.Sprintf("a delta is at %d of the message %s, of which %d units have come", d.Offset, d.MessageID, len(have))
	}
	m[d.MessageID] = append(have[:d.Offset:d.Offset], utf16.Encode([]rune(d.Delta))...)
	return ""
}

// completed takes a whole message. What the last moment brought comes in it alone, so the deltas make up its beginning; unless its turn
// was stopped, which keeps of a message what was stored of it.
func (m texts) completed(data []byte) string {
	var o struct {
		Message struct {
			ID      string
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Sprintf("a message can't be read: %v: %s", err, data)
	}
	whole := ""
	for _, part := range o.Message.Content {
		if part.Type == "text" {
			whole += part.Text
		}
	}
	got := string(utf16.Decode(m[o.Message.ID]))
	delete(m, o.Message.ID)
	if !strings.HasPrefix(whole, got) {
		return fmt.Sprintf("the deltas of the message %s add up to %q, it is %q", o.Message.ID, got, whole)
	}
	return ""
}
