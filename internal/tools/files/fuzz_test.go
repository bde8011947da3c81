package files_test

import (
	"encoding/json"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

// Whatever a model asks of whatever file: no panic, no internal error, a result that fits.
func FuzzTools(f *testing.F) {
	registry, err := tools.NewRegistry(files.Capability())
	if err != nil {
		f.Fatal(err)
	}
	set, err := registry.Resolve([]models.CapabilityRef{{ID: files.ID}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []struct{ name, arguments, content string }{
		{"read_file", `{"path":"f","offset":1,"limit":1,"unit":"bytes"}`, "é\x00"},
		{"read_many_files", `{"paths":["f","../f"]}`, "a\n"},
		{"write_file", `{"path":"f/g","content":"AA==","encoding":"base64"}`, ""},
		{"edit_file", `{"path":"f","replacements":[{"old":"a","new":"b","all":true}]}`, "aaa\r\na"},
		{"list_directory", `{"recursive":true}`, ""},
		{"grep_files", `{"pattern":"(?i)a|b*","glob":"**/[!x]{f,g}","context_lines":3}`, "a\nb\nc"},
		{"delete_file", `{"path":".","recursive":true}`, ""},
		{"stat_file", `{"path":"f"}`, ""},
	} {
		f.Add(seed.name, []byte(seed.arguments), []byte(seed.content))
	}
	f.Fuzz(func(t *testing.T, name string, arguments, content []byte) {
		call := with(t, map[string]string{"/workspace/f": string(content)})
		frozen, ended := tools.Prepare(t.Context(), set, &call.Call, name, arguments)
		if ended == nil {
			r := tools.Run(t.Context(), registry, &call.Call, frozen)
			ended = &r
			_ = registry.Narration(frozen, true, "")
		}
		if ended.Internal != nil {
			t.Fatalf("%s %q over %q: %v", name, arguments, content, ended.Internal)
		}
		if (ended.ToolError == "") == (ended.JSON == nil) || len(ended.JSON) > tools.MaxResultBytes || (ended.JSON != nil && !json.Valid(ended.JSON)) {
			t.Fatalf("%s %q over %q: %+v", name, arguments, content, ended)
		}
	})
}
