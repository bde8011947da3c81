package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/ask"
)

func prepare(t *testing.T, arguments string) (*tools.Registry, tools.Frozen, *tools.Result) {
	t.Helper()
	r, err := tools.NewRegistry(ask.Capability())
	if err != nil {
		t.Fatal(err)
	}
	set, err := r.Resolve([]models.CapabilityRef{{ID: ask.ID}})
	if err != nil {
		t.Fatal(err)
	}
	frozen, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "ask_user", json.RawMessage(arguments))
	return r, frozen, ended
}

func TestAQuestionIsPrepared(t *testing.T) {
	r, frozen, ended := prepare(t, `{"question":"  Which one? ","options":[" red  wine","white"]}`)
	if ended != nil || string(frozen.Arguments) != `{"options":["red wine","white"],"question":"Which one?"}` {
		t.Fatalf("got %s, %+v", frozen.Arguments, ended)
	}
	if frozen.Hints.Wait != tools.WaitQuestion || !frozen.Hints.Repeatable() {
		t.Errorf("the engine can't recognize it: %+v", frozen.Hints)
	}
	var args ask.Arguments
	if err := json.Unmarshal(frozen.Arguments, &args); err != nil || args.Question != "Which one?" || len(args.Options) != 2 {
		t.Errorf("got %+v, %v", args, err)
	}
	if line := r.Narration(frozen, false, ""); line != "Asks: Which one?" {
		t.Errorf("people read %q", line)
	}
	// A result that nobody gave would be an invention.
	if res := tools.Run(t.Context(), r, &tools.Call{}, frozen); res.Internal == nil {
		t.Errorf("it was run: %+v", res)
	}
	if _, frozen, ended = prepare(t, `{"question":"Why?"}`); ended != nil || string(frozen.Arguments) != `{"question":"Why?"}` {
		t.Errorf("without options: %s, %+v", frozen.Arguments, ended)
	}
}

func TestQuestionsThatAreRefused(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:                                   "question is required",
		`{"question":" "}`:                     "question",
		`{"question":"x","options":[]}`:        "options",
		`{"question":"x","options":["a"]}`:     "options",
		`{"question":"x","options":["a"," "]}`: "options[1]",
		`{"question":"x","options":["a","a"]}`: "options",
		`{"question":"x","options":["Red wine"," red  Wine "]}`:               "duplicate_option",
		`{"question":"x","options":["a","` + strings.Repeat("b", 201) + `"]}`: "options[1]",
		`{"question":"` + strings.Repeat("q", 4001) + `"}`:                    "question",
		`{"question":"x","answer":"y"}`:                                       "answer",
	} {
		if _, _, ended := prepare(t, arguments); ended == nil || !strings.Contains(ended.ToolError, want) {
			t.Errorf("%.60s: got %+v, want %q", arguments, ended, want)
		}
	}
}
