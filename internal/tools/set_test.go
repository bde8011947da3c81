package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/ask"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/callbacks"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

// The names are part of what users and prompts rely on: whoever changes one changes this list, too.
const builtIn = `
core.get_current_time  | Current time    | readOnly idempotent |
core.echo              | Echo            | readOnly idempotent |
core.report_progress   | Report progress | idempotent |
core.write_todos       | Write plan      | idempotent | session_todos
files.read_file        | Read file       | readOnly idempotent | session_workspace
files.read_many_files  | Read files      | readOnly idempotent | session_workspace
files.write_file       | Write file      | destructive idempotent | session_workspace
files.edit_file        | Edit file       | destructive idempotent | session_workspace
files.list_directory   | List directory  | readOnly idempotent | session_workspace
files.grep_files       | Search files    | readOnly idempotent | session_workspace
files.delete_file      | Delete file     | destructive idempotent | session_workspace
files.stat_file        | File details    | readOnly idempotent | session_workspace
budget.check_budget    | Check the budget | readOnly idempotent |
ask_user.ask_user       | Ask the user    | readOnly longRunning question |
callbacks.wait_for_callback | Wait for a callback | idempotent openWorld longRunning |
`

func TestBuiltInTools(t *testing.T) {
	r, err := tools.NewRegistry(files.Capability(), budget.Capability(), core.Capability(), ask.Capability(), callbacks.Capability())
	if err != nil {
		t.Fatal(err)
	}
	set, err := r.Resolve(refs("files budget ask_user callbacks"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m := range set.Manifests() {
		var hints []string
		for _, h := range []struct {
			name string
			on   bool
		}{
			{"readOnly", m.Hints.ReadOnly},
			{"destructive", m.Hints.Destructive},
			{"idempotent", m.Hints.Idempotent},
			{"openWorld", m.Hints.OpenWorld},
			{"longRunning", m.Hints.LongRunning},
			{"background", m.Hints.Background},
			{"question", m.Hints.Wait == tools.WaitQuestion},
		} {
			if h.on {
				hints = append(hints, h.name)
			}
		}
		if !strings.HasSuffix(m.ID, "."+m.Name) || !strings.HasSuffix(m.Description, ".") {
			t.Errorf("%s: the name is %s, the description %q", m.ID, m.Name, m.Description)
		}
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", m.ID, m.DisplayName, strings.Join(hints, " "), m.Hints.ConcurrencyClass))
	}
	var want []string
	for line := range strings.SplitSeq(strings.TrimSpace(builtIn), "\n") {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		want = append(want, strings.Join(cells, "|"))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("the tools are\n%s\nwant\n%s", g, w)
	}
	for _, s := range set.Sections() {
		if len(s.Text) > 500 {
			t.Errorf("the prompt section of %s has %d bytes; it is paid for in every call", s.CapabilityID, len(s.Text))
		}
	}
}
