package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
)

// texts puts messages together from deltas, as docs/events.md tells clients to.
type texts map[string][]uint16

func (m texts) add(t *testing.T, e event) {
	t.Helper()
	d := deltaOf(t, e)
	have := m[d.MessageID]
	if d.Offset > len(have) {
		t.Fatalf("a delta at %d of a message of which %d units have come", d.Offset, len(have))
	}
	m[d.MessageID] = append(have[:d.Offset:d.Offset], utf16.Encode([]rune(d.Delta))...)
}

func (m texts) of(message string) string { return string(utf16.Decode(m[message])) }

type outputCompleted struct {
	Message struct {
		ID      string `json:"id"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

func (o outputCompleted) text() string {
	s := ""
	for _, p := range o.Message.Content {
		if p.Type == "text" {
			s += p.Text
		}
	}
	return s
}

// deltasAddUp checks the text that came in deltas against the text of the message, for every message that was completed.
// What the last moment brought comes in OUTPUT_COMPLETED alone, so the deltas make up its beginning.
func deltasAddUp(t *testing.T, list []event) {
	t.Helper()
	built := texts{}
	for _, e := range list {
		switch e.Kind {
		case "OUTPUT_DELTA":
			built.add(t, e)
		case "OUTPUT_COMPLETED":
			o := e.output(t)
			if got, want := built.of(o.Message.ID), o.text(); !strings.HasPrefix(want, got) {
				t.Errorf("the deltas of message %s add up to %q, the message is %q", o.Message.ID, got, want)
			}
		}
	}
}

func (e event) output(t *testing.T) outputCompleted {
	t.Helper()
	var o outputCompleted
	if err := json.Unmarshal(e.Data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
