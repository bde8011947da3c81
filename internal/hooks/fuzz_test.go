package hooks_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/tools"
)

// canned answers every request with one text.
type canned string

func (c canned) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

// Whatever a hook answers: what comes out can be stored, shown and run, and an answer that can't be used changes nothing.
func FuzzHookOutput(f *testing.F) {
	for _, s := range []string{
		``, `{"decision":"allow"}`, `{"decision":"block","reason":"no","userMessage":"x"}`, `{"decision":"mutate","patch":{"message":"x"}}`,
		`{"decision":"mutate","patch":{"arguments":{"a":null,"b":[1,2]}}}`, `{"decision":"mutate","patch":{"result":1,"error":null,"additionalContext":"c"}}`,
		`{"decision":"mutate","patch":{"error":"x"}}`, `[`, `{"decision":"mutate","patch":{"result":{"a":"\u0000"}}}`, "\xff",
	} {
		for i := range tools.HookEvents() {
			f.Add(s, i)
		}
	}
	f.Fuzz(func(t *testing.T, output string, n int) {
		events := tools.HookEvents()
		event := events[uint(n)%uint(len(events))]
		before := happens(event)
		out := run(t, runner(t, func(c *hooks.Config) { c.Client = canned(output) }), before, webhook(event, "https://hook.example/"))
		ran := out.Runs[0]
		if ran.Failure != "" && out.Decision != hooks.Allow {
			t.Fatalf("a failed hook decided %s", out.Decision)
		}
		if out.Decision == hooks.Allow && (out.Message != before.Message || string(out.Result) != string(before.Result) || out.Error != before.Error || len(out.Context) > 0) {
			t.Fatalf("something changed: %+v", out)
		}
		if out.Decision == hooks.Mutate && !event.MayMutate() || out.Decision == hooks.Block && (!event.MayBlock() || out.Reason == "") {
			t.Fatalf("%s must not %s", event, out.Decision)
		}
		if before.Call != nil {
			var arguments map[string]any
			if json.Unmarshal(out.Arguments, &arguments) != nil || arguments == nil {
				t.Fatalf("the arguments are %q", out.Arguments)
			}
		}
		if event == tools.HookPostToolUse && (len(out.Result) > 0) == (out.Error != "") {
			t.Fatalf("the call has %q and %q", out.Result, out.Error)
		}
		if event == tools.HookUserPromptSubmit && strings.TrimSpace(out.Message) == "" {
			t.Fatal("the message is empty")
		}
		texts := append([]string{out.Message, string(out.Arguments), string(out.Result), out.Error, out.Reason, out.UserMessage, ran.Reason, ran.Failure}, out.Context...)
		for _, text := range texts {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || strings.Contains(text, `\u0000`) && !strings.Contains(text, `\\u0000`) {
				t.Fatalf("%q can't be stored", text)
			}
		}
	})
}
