package tools_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/tools"
)

func TestSalvage(t *testing.T) {
	const fence = "```"
	for raw, want := range map[string]string{
		"\uFEFF{\"a\":1}":                       `{"a":1}`,
		" \n\uFEFF {\"a\":1} ":                  `{"a":1}`,
		fence + "json\n{\"a\":1}\n" + fence:     `{"a":1}`,
		fence + "JSON {\"a\":1}" + fence + "\n": `{"a":1}`,
		fence + "\n{\"a\":1,}\n" + fence:        `{"a":1}`,
		`"{\"a\":1}"`:                           `{"a":1}`,
		`"{\"a\":\"x\\ny\"}"`:                   `{"a":"x\ny"}`,
		`"\"{}\""`:                              `{}`,
		`{"a":1,}`:                              `{"a":1}`,
		`{"a":[1,2,],"b":{"c":"}," ,} , }`:      `{"a":[1,2],"b":{"c":"}," } }`,
		`{"a":"\\",}`:                           `{"a":"\\"}`,
		`{"a":"\"",}`:                           `{"a":"\""}`,
		`{"a":1};`:                              `{"a":1}`,
		`"{\"a\":1,};" ;`:                       `{"a":1}`,
		fence + "json\n\"{\\\"a\\\":1}\"\n" + fence + ";": `{"a":1}`,
	} {
		got, ok := tools.Salvage(json.RawMessage(raw))
		if !ok || !sameJSON(t, string(got), want) {
			t.Errorf("%q: got %q, %v; want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{
		// Nothing to mend.
		`{}`, ` {"a":1} `, `{"a":1,"a":2}`,
		// Not clear what was meant, or cut off.
		``, ` `, `{`, `{"a":1`, `{"a":1,`, `{"a":"x`, `{"a":[1,}`, `{,}`, `{"a":,}`, `{"a":1,,}`, `[1,]`, `[]`, `1`, `null`, `"x"`, `"{"`, `{"a":1},`,
		`{"a":1};;;;;;;`, `{"a":1}}`, `{"a":1}{"b":2}`, `{"a":1} ok`, `call({"a":1})`, `{a:1}`, `{'a':1}`, `{"a":1 // one` + "\n}",
		fence + "json\n{\"a\":1}", fence + "python\n{\"a\":1}\n" + fence, `{"a":NaN}`, "{\"a\":\"\xff\"}", "\"{\\\"a\\\":\\\"\xff\\\"}\"", `;`, `"{}`,
		`{"a":1,}` + strings.Repeat(" ", tools.MaxArgumentsBytes),
	} {
		if got, ok := tools.Salvage(json.RawMessage(raw)); ok {
			t.Errorf("%.60q became %q", raw, got)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// Rules: E4.
func TestPrepareTellsThatArgumentsWereRepaired(t *testing.T) {
	set, err := registry(t, capability("c", tool("c.run", "run", `{"type":"object","required":["a"]}`))).Resolve(refs("c"))
	if err != nil {
		t.Fatal(err)
	}
	for raw, repaired := range map[string]bool{`{"a":1}`: false, `{"a":1,}`: true} {
		frozen, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "run", json.RawMessage(raw))
		if ended != nil || frozen.Repaired != repaired || string(frozen.Arguments) != `{"a":1}` {
			t.Errorf("%s: got %+v, %v", raw, frozen, ended)
		}
	}
	// Mended or not, the schema decides.
	if _, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "run", json.RawMessage(`{"b":1,}`)); ended == nil || !strings.Contains(ended.ToolError, "a is required") {
		t.Errorf("got %+v", ended)
	}
	if _, ended := tools.Prepare(t.Context(), set, &tools.Call{}, "run", json.RawMessage(`{"a":1`)); ended == nil || !strings.Contains(ended.ToolError, "not a JSON object") {
		t.Errorf("cut off: got %+v", ended)
	}
}

func FuzzSalvage(f *testing.F) {
	for _, s := range []string{`{"a":1,}`, "```json\n{}\n```", `"{\"a\":1}"`, "\uFEFF{}", `{"a":[1,2,],"b":"}"};`, "{\"a\":\"```\"}", `{"a":1`, `{"a":";"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		repaired, ok := tools.Salvage(raw)
		if ok {
			var object map[string]any
			if json.Unmarshal(repaired, &object) != nil || object == nil {
				t.Fatalf("%q became %q, which is no object", raw, repaired)
			}
			if again, twice := tools.Salvage(repaired); twice {
				t.Fatalf("%q became %q, and that %q", raw, repaired, again)
			}
			// Nothing is added: what comes out is what went in, with some left out. Strings that hold JSON lose escapes.
			if !bytes.Contains(raw, []byte(`\`)) && !isSubsequence(repaired, raw) {
				t.Fatalf("%q became %q", raw, repaired)
			}
		}
		// What is cut off is never completed.
		if canonical, err := jsonx.Canonical(raw); err == nil && len(canonical) < 512 && canonical[0] == '{' {
			quoted, _ := json.Marshal(string(canonical))
			for _, whole := range [][]byte{canonical, quoted, append([]byte("```json\n"), append(bytes.Clone(canonical), "\n```"...)...)} {
				for n := range whole {
					if got, ok := tools.Salvage(whole[:n]); ok {
						t.Fatalf("the first %d bytes of %q became %q", n, whole, got)
					}
				}
			}
		}
	})
}

func isSubsequence(part, whole []byte) bool {
	for _, c := range whole {
		if len(part) > 0 && part[0] == c {
			part = part[1:]
		}
	}
	return len(part) == 0
}
