package toolstest

import (
	"time"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Call is a tools.Call whose effects can be looked at.
type Call struct {
	tools.Call
	// Files is what the call's tool works on.
	Files *Memory
	// Progressed has the lines that were shown, Todos the plans that were set.
	Progressed []string
	Todos      [][]models.Todo
}

// Time is what the clock of a Call shows.
func Time() time.Time { return time.Date(2026, 7, 1, 12, 30, 0, 123, time.UTC) }

// NewCall returns a call with files in memory and a clock that stands still.
func NewCall() *Call {
	c := &Call{Files: NewMemory()}
	c.Call = tools.Call{
		CallID: "call_1", IdempotencyKey: "session:call_1:tool", Attempt: 1, Now: Time,
		Files:    c.Files,
		SetTodos: func(todos []models.Todo) { c.Todos = append(c.Todos, todos) },
		Progress: func(message string) { c.Progressed = append(c.Progressed, message) },
	}
	return c
}
