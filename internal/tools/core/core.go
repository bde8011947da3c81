// Package core holds the tools that every agent has: the time, an echo, progress lines and the plan.
package core

import "github.com/ostler-dev/ostler/internal/tools"

// ID is the capability's id.
const ID = "core"

// Capability returns the capability core.
func Capability() tools.Capability {
	return tools.Capability{
		ID:          ID,
		Name:        "Core",
		Description: "The current time, an echo, progress lines and a plan. Every agent has it.",
		Risk:        "LOW",
		AlwaysOn:    true,
		Prompt: "For work of several steps keep a plan with write_todos: give the whole list each time, with one item " +
			"in_progress at most, and mark items completed as soon as they are. Tell people about long work with " +
			"report_progress. Use get_current_time for dates and times; do not guess them.",
		Tools: []tools.Tool{currentTime(), echo(), reportProgress(), writeTodos()},
	}
}
