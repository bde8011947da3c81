// Package turnshape says what one turn makes durable. The load generator reads it off a turn of the product, and the
// floor writes the same number and bytes of events.
package turnshape

import (
	"encoding/json"
	"fmt"
	"os"
)

// Event is a durable event: its kind, and how many bytes its data has as JSON.
type Event struct {
	Kind  string `json:"kind"`
	Bytes int    `json:"bytes"`
}

// Shape is the events of a turn by commits: the fewest that a crash-safe turn can do with.
type Shape [][]Event

// Shapes are those of the two turns that are measured.
type Shapes struct {
	// Tool is message → reason with a tool call → tool → reason.
	Tool Shape `json:"tool"`
	// Text is message → reason.
	Text Shape `json:"text"`
}

// Default is the shape to begin with, when no product is there to be asked.
var Default = Shapes{
	Tool: Split(append(append(begin(), call()...), answer()...)),
	Text: Split(append(begin(), answer()...)),
}

func begin() []Event {
	return []Event{
		{"MESSAGE_RECEIVED", 240}, {"SESSION_ACTIVATED", 2}, {"TURN_STARTED", 100}, {"REASON_STARTED", 15}, {"OUTPUT_STARTED", 100},
	}
}

func call() []Event {
	return []Event{
		{"OUTPUT_COMPLETED", 400},
		{"GENERATION_RECORDED", 450},
		{"REASON_COMPLETED", 30},
		{"ACT_STARTED", 50},
		{"TOOL_STARTED", 150},
		{"TOOL_COMPLETED", 200},
		{"ACT_COMPLETED", 15},
		{"REASON_STARTED", 15},
		{"OUTPUT_STARTED", 100},
	}
}

func answer() []Event {
	return []Event{
		{"OUTPUT_COMPLETED", 400}, {"GENERATION_RECORDED", 450}, {"REASON_COMPLETED", 30}, {"TURN_COMPLETED", 350}, {"SESSION_IDLED", 150},
	}
}

// Split divides a turn's events at its durable points. What must be safe before something outside happens ends a
// commit: the accepted message with the start of the first model call, the claims of tools, the results of tools with
// the start of the next model call. What is left is the end of the turn.
func Split(events []Event) Shape {
	shape := Shape{nil}
	for i, e := range events {
		last := len(shape) - 1
		shape[last] = append(shape[last], e)
		toolsClaimed := e.Kind == "TOOL_STARTED" && (i+1 == len(events) || events[i+1].Kind != "TOOL_STARTED")
		if (e.Kind == "OUTPUT_STARTED" || toolsClaimed) && i+1 < len(events) {
			shape = append(shape, nil)
		}
	}
	return shape
}

// Events counts the events of a turn.
func (s Shape) Events() int {
	n := 0
	for _, commit := range s {
		n += len(commit)
	}
	return n
}

// Bytes counts the bytes of their data.
func (s Shape) Bytes() int {
	n := 0
	for _, commit := range s {
		for _, e := range commit {
			n += e.Bytes
		}
	}
	return n
}

// Read reads shapes from a file that Write has written.
func Read(file string) (Shapes, error) {
	var s Shapes
	data, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read shapes of turns from %s: %w", file, err)
	}
	if len(s.Tool) < 2 || len(s.Text) < 2 {
		return s, fmt.Errorf("read shapes of turns from %s: a turn needs at least two commits", file)
	}
	return s, nil
}

// Write writes shapes to a file.
func (s Shapes) Write(file string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
