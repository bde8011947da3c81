package files_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/files"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

// invoke runs a tool over the files of a call. Values that aren't strings are written as JSON.
func invoke(tb testing.TB, call *toolstest.Call, name string, arguments any) tools.Result {
	tb.Helper()
	text, ok := arguments.(string)
	if !ok {
		doc, err := json.Marshal(arguments)
		if err != nil {
			tb.Fatal(err)
		}
		text = string(doc)
	}
	r := toolstest.Invoke(tb, files.Capability(), call, name, text)
	if r.Internal != nil {
		tb.Fatalf("%s: internal error: %v", name, r.Internal)
	}
	if strings.Contains(string(r.JSON), "the beginning of the result's JSON text") {
		tb.Fatalf("%s: its result had to be cut", name)
	}
	return r
}

type object = map[string]any

// with returns a call that has files.
func with(tb testing.TB, contents map[string]string) *toolstest.Call {
	tb.Helper()
	call := toolstest.NewCall()
	for path, content := range contents {
		if err := call.Files.Seed(tb.Context(), tools.File{Path: path}, []byte(content)); err != nil {
			tb.Fatal(err)
		}
	}
	return call
}

// decoded reads a result that must be a success.
func decoded[T any](tb testing.TB, r tools.Result) T {
	tb.Helper()
	var v T
	if r.Failed() {
		tb.Fatalf("it failed: %s", r.ToolError)
	}
	if err := json.Unmarshal(r.JSON, &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

func contentOf(tb testing.TB, call *toolstest.Call, path string) string {
	tb.Helper()
	_, content, err := call.Files.Read(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

func hash(content string) string { return toolstest.ContentHash([]byte(content)) }

// Each tool with small input, good and bad: the result is as it is here, or the error contains what is here.
func TestTools(t *testing.T) {
	contents := map[string]string{
		"/workspace/a.txt":    "one\ntwo\nthree",
		"/workspace/crlf.txt": "one\r\ntwo\r\n",
		"/workspace/bin":      "\x00\x01\x02\x03",
		"/workspace/empty":    "",
		"/workspace/d/b.go":   "package b\n",
		"/workspace/d/e/c.go": "package c\n",
		"/outputs/call_0":     "out",
	}
	hA := hash(contents["/workspace/a.txt"])
	base64Of := base64.StdEncoding.EncodeToString
	cases := []struct{ name, arguments, want string }{
		{"read_file", `{"path":"a.txt"}`, `{"path":"/workspace/a.txt","content":"one\ntwo\nthree","encoding":"text","hash":"` + hA + `","size":13,"totalLines":3,"unit":"lines","offset":0,"truncated":false}`},
		{"read_file", `{"path":"/workspace/a.txt","offset":1,"limit":1}`, `{"path":"/workspace/a.txt","content":"two\n","encoding":"text","hash":"` + hA + `","size":13,"totalLines":3,"unit":"lines","offset":1,"truncated":true,"bytesReturned":4,"bytesTotal":13,"nextOffset":2,"resumeHint":"Continue with unit \"lines\" and offset 2.","reason":"limit"}`},
		{"read_file", `{"path":"a.txt","offset":2,"limit":5}`, `"content":"three","encoding":"text","hash":"` + hA + `","size":13,"totalLines":3,"unit":"lines","offset":2,"truncated":false}`},
		{"read_file", `{"path":"a.txt","offset":3}`, `"content":"",`},
		{"read_file", `{"path":"a.txt","offset":4}`, `out_of_range: offset 4 is beyond the end of /workspace/a.txt, which has 3 lines.`},
		{"read_file", `{"path":"a.txt","offset":4,"limit":3,"unit":"bytes"}`, `"content":"two","encoding":"text","hash":"` + hA + `","size":13,"totalLines":3,"unit":"bytes","offset":4,"truncated":true`},
		{"read_file", `{"path":"a.txt","offset":14,"unit":"bytes"}`, `which has 13 bytes.`},
		{"read_file", `{"path":"empty"}`, `"content":"","encoding":"text","hash":"` + hash("") + `","size":0,"totalLines":0,"unit":"lines","offset":0,"truncated":false}`},
		{"read_file", `{"path":"bin"}`, `{"path":"/workspace/bin","content":"` + base64Of([]byte("\x00\x01\x02\x03")) + `","encoding":"base64","hash":"` + hash("\x00\x01\x02\x03") + `","size":4,"unit":"bytes","offset":0,"truncated":false}`},
		{"read_file", `{"path":"bin","offset":1,"limit":2}`, `"content":"` + base64Of([]byte("\x01\x02")) + `","encoding":"base64"`},
		{"read_file", `{"path":"bin","unit":"lines"}`, `not_text: /workspace/bin is not text`},
		{"read_file", `{"path":"/outputs/call_0"}`, `"content":"out"`},
		{"read_file", `{"path":"none"}`, `not_found: There is nothing at /workspace/none. Use list_directory`},
		{"read_file", `{"path":"d"}`, `is_directory: /workspace/d is a directory. Pass the path of a file`},
		{"read_file", `{"path":"../x"}`, `invalid_path: The path "../x" has the segment ".."`},
		{"read_file", `{"path":"/etc/passwd"}`, `invalid_path: The path "/etc/passwd" is outside`},
		{"read_file", `{}`, `path is required`},
		{"read_file", `{"path":"a.txt","limit":0}`, `limit must be at least 1`},
		{"read_file", `{"path":"a.txt","offset":-1}`, `offset must be at least 0`},
		{"read_file", `{"path":"a.txt","unit":"pages"}`, `unit must be one of "lines", "bytes"`},
		{"read_many_files", `{"paths":["a.txt"]}`, `{"files":[{"path":"/workspace/a.txt","content":"one\ntwo\nthree"`},
		{"read_many_files", `{"paths":["none","../x","d","bin"]}`, `{"files":[{"path":"/workspace/none","error":{"code":"not_found","message":"There is nothing at /workspace/none. Use list_directory to see what is there."}},{"path":"../x","error":{"code":"invalid_path","message":"The path \"../x\" has the segment \"..\" in it; leave it out."}},{"path":"/workspace/d","error":{"code":"is_directory","message":"/workspace/d is a directory. Pass the path of a file, or use list_directory."}},{"path":"/workspace/bin","content":"AAECAw==","encoding":"base64","hash":"` + hash("\x00\x01\x02\x03") + `","size":4,"unit":"bytes","offset":0,"truncated":false}]}`},
		{"read_many_files", `{"paths":[]}`, `paths must have at least 1 items`},
		{"read_many_files", `{"paths":["a","a"]}`, `paths must not repeat items`},
		{"read_many_files", `{"paths":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20","21"]}`, `paths must have at most 20 items, it has 21`},
		{"write_file", `{"path":"new/n.txt","content":"hello"}`, `{"path":"/workspace/new/n.txt","size":5,"hash":"` + hash("hello") + `"}`},
		{"write_file", `{"path":"n.bin","content":"AAE=","encoding":"base64"}`, `{"path":"/workspace/n.bin","size":2,"hash":"` + hash("\x00\x01") + `"}`},
		{"write_file", `{"path":"n.bin","content":"%%%","encoding":"base64"}`, `invalid_content: The content for n.bin can't be used: content is not base64`},
		{"write_file", `{"path":"n.bin","content":"","encoding":"hex"}`, `encoding must be one of "text", "base64"`},
		{"write_file", `{"path":"a.txt","content":"x","expected_hash":"` + strings.ToUpper(hA) + `"}`, `{"path":"/workspace/a.txt","size":1,"hash":"` + hash("x") + `"}`},
		{"write_file", `{"path":"a.txt","content":"x","expected_hash":"` + hash("other") + `"}`, `conflict: `},
		{"write_file", `{"path":"none","content":"x","expected_hash":"` + hA + `"}`, `conflict: `},
		{"write_file", `{"path":"a.txt","content":"x","expected_hash":"abc"}`, `expected_hash must match the pattern`},
		{"write_file", `{"path":"d","content":"x"}`, `is_directory: `},
		{"write_file", `{"path":"a.txt/x","content":"x"}`, `not_directory: `},
		{"write_file", `{"path":"/workspace","content":"x"}`, `readonly: `},
		{"write_file", `{"path":"a\\b","content":"x"}`, `invalid_path: `},
		{"write_file", `{"path":"x"}`, `content is required`},
		{"list_directory", ``, `{"path":"/workspace","entries":[{"path":"/workspace/a.txt","type":"file","size":13},{"path":"/workspace/bin","type":"file","size":4},{"path":"/workspace/crlf.txt","type":"file","size":10},{"path":"/workspace/d","type":"directory"},{"path":"/workspace/empty","type":"file","size":0}],"truncated":false}`},
		{"list_directory", `{"path":"d","recursive":true}`, `{"path":"/workspace/d","entries":[{"path":"/workspace/d/b.go","type":"file","size":10},{"path":"/workspace/d/e","type":"directory"},{"path":"/workspace/d/e/c.go","type":"file","size":10}],"truncated":false}`},
		{"list_directory", `{"path":"d","offset":1}`, `"entries":[{"path":"/workspace/d/e","type":"directory"}]`},
		{"list_directory", `{"path":"d","offset":3}`, `out_of_range: offset 3`},
		{"list_directory", `{"path":"/.tasks"}`, `{"path":"/.tasks","entries":[],"truncated":false}`},
		{"list_directory", `{"path":"a.txt"}`, `not_directory: `},
		{"list_directory", `{"path":"none"}`, `not_found: `},
		{"list_directory", `{"path":"/"}`, `invalid_path: `},
		{"delete_file", `{"path":"a.txt"}`, `{"path":"/workspace/a.txt","deleted":true}`},
		{"delete_file", `{"path":"d"}`, `not_empty: The directory /workspace/d is not empty. Set recursive to true`},
		{"delete_file", `{"path":"d","recursive":true}`, `{"path":"/workspace/d","deleted":true}`},
		{"delete_file", `{"path":"none"}`, `not_found: `},
		{"delete_file", `{"path":"/workspace","recursive":true}`, `readonly: `},
		{"delete_file", `{"recursive":true}`, `path is required`},
		{"stat_file", `{"path":"a.txt"}`, `{"path":"/workspace/a.txt","type":"file","size":13,"hash":"` + hA + `","readonly":false,"updatedAt":"2026-01-02T03:04:05Z"}`},
		{"stat_file", `{"path":"."}`, `{"path":"/workspace","type":"directory","size":0,"readonly":false}`},
		{"stat_file", `{"path":"none"}`, `not_found: `},
		{"stat_file", `{"path":""}`, `path must have at least 1 characters`},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %.80s", c.name, c.arguments), func(t *testing.T) {
			r := invoke(t, with(t, contents), c.name, c.arguments)
			got := string(r.JSON) + r.ToolError
			whole := strings.HasPrefix(c.want, "{") && strings.HasSuffix(c.want, "}")
			if !strings.Contains(got, c.want) || (whole && got != c.want) {
				t.Errorf("it gives\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestReadOnlyFiles(t *testing.T) {
	call := with(t, nil)
	if err := call.Files.Seed(t.Context(), tools.File{Path: "/workspace/fixed", ReadOnly: true}, []byte("x\n")); err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]object{
		"write_file":  {"path": "fixed", "content": "y"},
		"edit_file":   {"path": "fixed", "replacements": []object{{"old": "x", "new": "y"}}},
		"delete_file": {"path": "fixed"},
	} {
		if r := invoke(t, call, name, arguments); !strings.HasPrefix(r.ToolError, "readonly: ") {
			t.Errorf("%s gives %+v", name, r)
		}
	}
	if r := invoke(t, call, "list_directory", `{}`); !strings.Contains(string(r.JSON), `"readonly":true`) {
		t.Errorf("the list is %s", r.JSON)
	}
}

func TestFilesDisabled(t *testing.T) {
	for _, tool := range files.Capability().Tools {
		call := toolstest.NewCall()
		call.Call.Files = nil
		name := tool.Manifest().Name
		arguments := map[string]string{
			"write_file": `{"path":"a","content":""}`, "edit_file": `{"path":"a","replacements":[{"old":"a","new":"b"}]}`,
			"read_many_files": `{"paths":["a"]}`, "grep_files": `{"pattern":"a"}`,
		}[name]
		if arguments == "" {
			arguments = `{"path":"a"}`
		}
		if r := invoke(t, call, name, arguments); !strings.HasPrefix(r.ToolError, "files_disabled: ") {
			t.Errorf("%s gives %+v", name, r)
		}
	}
}

// What is frozen has the path that will be used: people approve it.
func TestPathsAreFrozenNormalized(t *testing.T) {
	r, err := tools.NewRegistry(files.Capability())
	if err != nil {
		t.Fatal(err)
	}
	set, err := r.Resolve([]models.CapabilityRef{{ID: files.ID}})
	if err != nil {
		t.Fatal(err)
	}
	call := toolstest.NewCall()
	for name, c := range map[string][2]string{
		"read_file":      {`{"path":"./a//b"}`, `{"path":"/workspace/a/b"}`},
		"list_directory": {``, `{"path":"/workspace"}`},
		"grep_files":     {`{"pattern":"x"}`, `{"path":"/workspace","pattern":"x"}`},
		"write_file":     {`{"path":"a","content":"<>"}`, `{"content":"<>","path":"/workspace/a"}`},
	} {
		f, ended := tools.Prepare(t.Context(), set, &call.Call, name, json.RawMessage(c[0]))
		if ended != nil || string(f.Arguments) != c[1] {
			t.Errorf("%s of %s is frozen as %s, %+v; want %s", name, c[0], f.Arguments, ended, c[1])
		}
	}
}

func TestNarration(t *testing.T) {
	r, err := tools.NewRegistry(files.Capability())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, arguments, before, after string }{
		{"write_file", `{"path":"/workspace/notes.txt"}`, "Writing notes.txt", "Wrote notes.txt"},
		{"read_file", `{"path":"d/./a"}`, "Reading d/a", "Read d/a"},
		{"read_many_files", `{"paths":["a","b"]}`, "Reading 2 files", "Read 2 files"},
		{"read_many_files", `{"paths":["a"]}`, "Reading a", "Read a"},
		{"edit_file", `{"path":"/outputs/x"}`, "Editing /outputs/x", "Edited /outputs/x"},
		{"list_directory", `{"path":"/workspace"}`, "Listing /workspace", "Listed /workspace"},
		{"list_directory", `{}`, "Listing /workspace", "Listed /workspace"},
		{"grep_files", `{"pattern":"TODO"}`, "Searching for TODO", "Searched for TODO"},
		{"delete_file", `{"path":"a"}`, "Deleting a", "Deleted a"},
		{"stat_file", `{"path":"../a"}`, "Looking at ../a", "Looked at ../a"},
	} {
		f := tools.Frozen{ToolID: "files." + c.name, Arguments: json.RawMessage(c.arguments)}
		if before, after := r.Narration(f, false, ""), r.Narration(f, true, ""); before != c.before || after != c.after {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, before, after, c.before, c.after)
		}
	}
}
