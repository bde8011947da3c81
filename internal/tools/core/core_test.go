package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

func TestTools(t *testing.T) {
	cases := []struct{ name, arguments, want string }{
		{"get_current_time", ``, `{"time":"2026-07-01T12:30:00Z","timezone":"UTC","unix":1782909000}`},
		{"get_current_time", `{"timezone":""}`, `{"time":"2026-07-01T12:30:00Z","timezone":"UTC","unix":1782909000}`},
		{"get_current_time", `{"timezone":"Europe/Berlin"}`, `{"time":"2026-07-01T14:30:00+02:00","timezone":"Europe/Berlin","unix":1782909000}`},
		{"get_current_time", `{"timezone":"Asia/Kathmandu"}`, `{"time":"2026-07-01T18:15:00+05:45","timezone":"Asia/Kathmandu","unix":1782909000}`},
		{"get_current_time", `{"timezone":"Middle/Earth"}`, `invalid_timezone: "Middle/Earth" is not the IANA name`},
		{"get_current_time", `{"timezone":"Local"}`, `invalid_timezone: `},
		{"get_current_time", `{"timezone":"../../etc/passwd"}`, `invalid_timezone: `},
		{"get_current_time", `{"timezone":1}`, `invalid_arguments: The arguments of get_current_time are not valid: timezone must be of type string`},
		{"get_current_time", `{"zone":"UTC"}`, `zone is not known`},
		{"echo", `{"text":"grüße 🗝"}`, `{"echoed":"grüße 🗝","length":7}`},
		{"echo", `{"text":""}`, `{"echoed":"","length":0}`},
		{"echo", `{"text":"<b>&amp;"}`, `{"echoed":"<b>&amp;","length":8}`},
		{"echo", `{}`, `text is required`},
		{"echo", `{"text":null}`, `text must be of type string, not null`},
		{"report_progress", `{"message":"half way"}`, `{"reported":true}`},
		{"report_progress", `{"message":" "}`, `message must match`},
		{"report_progress", `{"message":""}`, `message must have at least 1`},
		{"report_progress", `{}`, `message is required`},
		{"write_todos", `{"todos":[]}`, `{"todos":{"pending":0,"in_progress":0,"completed":0},"total":0}`},
		{
			"write_todos", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"},{"content":"d","status":"pending"}]}`,
			`{"todos":{"pending":2,"in_progress":1,"completed":1},"total":4}`,
		},
		{"write_todos", `{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`, `todos has 2 items that are in_progress; at most one may be`},
		{"write_todos", `{"todos":[{"content":"a","status":"done"}]}`, `todos[0].status must be one of "pending", "in_progress", "completed"`},
		{"write_todos", `{"todos":[{"content":" ","status":"pending"}]}`, `todos[0].content must match`},
		{"write_todos", `{"todos":[{"content":"a"}]}`, `todos[0].status is required`},
		{"write_todos", `{"todos":"a"}`, `todos must be of type array`},
		{"write_todos", `{"todos":[{"content":"` + strings.Repeat("é", 501) + `","status":"pending"}]}`, `todos[0].content must have at most 500 characters, it has 501`},
		{"write_todos", many(101), `todos must have at most 100 items, it has 101`},
		{"write_todos", many(100), `{"todos":{"pending":100,"in_progress":0,"completed":0},"total":100}`},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %.60s", c.name, c.arguments), func(t *testing.T) {
			r := toolstest.Invoke(t, core.Capability(), toolstest.NewCall(), c.name, c.arguments)
			got := string(r.JSON) + r.ToolError
			if r.Internal != nil || (strings.HasPrefix(c.want, "{") && got != c.want) || !strings.Contains(got, c.want) {
				t.Errorf("it gives %s, %v; want %s", got, r.Internal, c.want)
			}
		})
	}
}

func many(n int) string {
	items := strings.Repeat(`{"content":"x","status":"pending"},`, n)
	return `{"todos":[` + strings.TrimSuffix(items, ",") + `]}`
}

func TestEffects(t *testing.T) {
	call := toolstest.NewCall()
	toolstest.Invoke(t, core.Capability(), call, "report_progress", `{"message":"half way"}`)
	if fmt.Sprint(call.Progressed) != "[half way]" {
		t.Errorf("shown was %q", call.Progressed)
	}
	toolstest.Invoke(t, core.Capability(), call, "write_todos", `{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}]}`)
	want := []models.Todo{{Content: "a", Status: "IN_PROGRESS"}, {Content: "b", Status: "PENDING"}}
	if len(call.Todos) != 1 || fmt.Sprint(call.Todos[0]) != fmt.Sprint(want) {
		t.Errorf("the plan is %v, want %v", call.Todos, want)
	}
	toolstest.Invoke(t, core.Capability(), call, "write_todos", `{"todos":[]}`)
	if len(call.Todos) != 2 || call.Todos[1] == nil || len(call.Todos[1]) != 0 {
		t.Errorf("an empty list sets %v", call.Todos)
	}
	toolstest.Invoke(t, core.Capability(), call, "write_todos", `{"todos":[{"content":"a","status":"x"}]}`)
	if len(call.Todos) != 2 {
		t.Errorf("a refused list sets %v", call.Todos)
	}
}

func TestWithoutFacets(t *testing.T) {
	call := toolstest.NewCall()
	call.Progress, call.SetTodos = nil, nil
	if r := toolstest.Invoke(t, core.Capability(), call, "report_progress", `{"message":"x"}`); r.Failed() {
		t.Errorf("progress that nobody sees fails: %+v", r)
	}
	if r := toolstest.Invoke(t, core.Capability(), call, "write_todos", `{"todos":[]}`); !strings.HasPrefix(r.ToolError, "todos_unavailable: ") {
		t.Errorf("without a plan: %+v", r)
	}
}

func TestNarration(t *testing.T) {
	r, err := tools.NewRegistry(core.Capability())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ id, arguments, before, after string }{
		{"core.get_current_time", `{}`, "Checking the time", "Checked the time"},
		{"core.echo", `{"text":"x"}`, "", ""},
		{"core.report_progress", `{"message":"half way"}`, "half way", "half way"},
		{"core.write_todos", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}`, "Updating the plan", "Updated the plan: 1 of 2 done"},
	} {
		f := tools.Frozen{ToolID: c.id, Arguments: json.RawMessage(c.arguments)}
		if before, after := r.Narration(f, false, ""), r.Narration(f, true, "de-AT"); before != c.before || after != c.after {
			t.Errorf("%s: %q, %q; want %q, %q", c.id, before, after, c.before, c.after)
		}
	}
}
