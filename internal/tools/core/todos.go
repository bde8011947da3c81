package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// The states of a todo, as the model writes them. models.Todo has them in upper case.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
)

type todosArgs struct {
	Todos []todo `json:"todos"`
}

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type todosResult struct {
	Todos todoCounts `json:"todos"`
	Total int        `json:"total"`
}

type todoCounts struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
}

func count(todos []todo) todoCounts {
	var c todoCounts
	for _, t := range todos {
		switch t.Status {
		case pending:
			c.Pending++
		case inProgress:
			c.InProgress++
		case completed:
			c.Completed++
		}
	}
	return c
}

func writeTodos() tools.Tool {
	return tools.Define(tools.Spec[todosArgs]{
		Manifest: tools.Manifest{
			ID: "core.write_todos", Name: "write_todos", DisplayName: "Write plan",
			Description: "Replaces the plan of this session by a list of todos. An empty list clears it. " +
				"At most one todo may be in_progress.",
			// Two lists in one response: the later one has to win.
			Hints: tools.Hints{Idempotent: true, ConcurrencyClass: "session_todos"},
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"todos": {
						"type": "array",
						"maxItems": 100,
						"description": "The whole plan, in order.",
						"items": {
							"type": "object",
							"properties": {
								"content": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": "\\S", "description": "The task."},
								"status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
							},
							"required": ["content", "status"],
							"additionalProperties": false
						}
					}
				},
				"required": ["todos"],
				"additionalProperties": false
			}`),
		},
		Prepare: func(_ context.Context, _ *tools.Call, args *todosArgs) *tools.Result {
			if n := count(args.Todos).InProgress; n > 1 {
				r := tools.Fail(fmt.Sprintf("invalid_arguments: todos has %d items that are in_progress; at most one may be. "+
					"Set the others to pending or completed.", n))
				return &r
			}
			return nil
		},
		Execute: func(_ context.Context, call *tools.Call, args todosArgs) tools.Result {
			if call.SetTodos == nil {
				return tools.Fail("todos_unavailable: There is no plan to write here. Continue without it.")
			}
			stored := make([]models.Todo, len(args.Todos))
			for i, t := range args.Todos {
				stored[i] = models.Todo{Content: t.Content, Status: strings.ToUpper(t.Status)}
			}
			call.SetTodos(stored)
			return tools.Success(todosResult{Todos: count(args.Todos), Total: len(args.Todos)})
		},
		Narrate: narrateTodos,
	})
}

func narrateTodos(args todosArgs, done bool, _ string) string {
	if !done {
		return "Updating the plan"
	}
	return fmt.Sprintf("Updated the plan: %d of %d done", count(args.Todos).Completed, len(args.Todos))
}
