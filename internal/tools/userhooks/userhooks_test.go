package userhooks_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
	"github.com/ostler-dev/ostler/internal/tools/userhooks"
)

func resolve(t testing.TB, config string) (tools.Toolset, error) {
	t.Helper()
	expressions, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	// Another capability has a hook of its own.
	guard := tools.Capability{
		ID: "guard", Name: "Guard", Description: "Guards.", Risk: "LOW",
		Hooks: func(json.RawMessage) ([]tools.HookSpec, error) {
			return []tools.HookSpec{{Name: "check", Event: tools.HookPreToolUse, CEL: &tools.CELExecutor{Expression: "true"}}}, nil
		},
	}
	r, err := tools.NewRegistry(userhooks.Capability(expressions, egress.New(egress.Config{})), guard)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := r.Capability(userhooks.ID); c.Risk != "HIGH" {
		t.Errorf("the risk is %s", c.Risk)
	}
	ref := models.CapabilityRef{ID: userhooks.ID, Config: models.JSON(config)}
	set, err := r.Resolve([]models.CapabilityRef{ref, {ID: "guard"}})
	if err != nil {
		return set, err
	}
	if err := r.CheckAttach(ref); err != nil {
		// Where turns run, settings that were attached once are taken as they are.
		f := fault.As(err)
		return set, f.At(append([]string{"capabilities", "0"}, f.Path...)...)
	}
	return set, nil
}

func TestHooksOfUsersAreRead(t *testing.T) {
	set, err := resolve(t, `{
		"hooks": [
			{"name": "audit", "event": "post_tool_use", "matcher": {"tools": ["write_*"], "when": "error == ''"}, "webhook": {"url": "https://hooks.example.com/x?y=1"}, "onError": "block", "timeoutMs": 100},
			{"event": "user_prompt_submit", "cel": {"expression": "message != 'secret'"}}
		],
		"disabled": ["user_hooks:none"]
	}`)
	if err != nil {
		t.Fatal(err)
	}
	hooks := set.Hooks()
	if len(hooks) != 3 || hooks[0].ID != "guard:check" || hooks[1].ID != "user_hooks:audit" || hooks[2].ID != "user_hooks:1" {
		t.Fatalf("got %+v", hooks)
	}
	a, b := hooks[1], hooks[2]
	if a.Event != tools.HookPostToolUse || a.Webhook == nil || a.Webhook.URL != "https://hooks.example.com/x?y=1" || a.OnError != tools.OnErrorBlock ||
		a.Timeout != 100*time.Millisecond || a.Matcher.When != "error == ''" || strings.Join(a.Matcher.Tools, " ") != "write_*" || a.Executor() != "webhook" {
		t.Errorf("got %+v", a)
	}
	if b.CEL == nil || b.CEL.Expression != "message != 'secret'" || b.OnError != tools.OnErrorWarn || b.Timeout != 5*time.Second || b.Executor() != "cel" {
		t.Errorf("got %+v", b)
	}
}

// Rules: H13.
func TestHooksAreMutedByID(t *testing.T) {
	set, err := resolve(t, `{"hooks":[{"event":"turn_end","cel":{"expression":"true"}},{"name":"b","event":"turn_end","cel":{"expression":"true"}}],"disabled":["guard:check","user_hooks:0"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if hooks := set.Hooks(); len(hooks) != 1 || hooks[0].ID != "user_hooks:b" {
		t.Errorf("got %+v", hooks)
	}
}

// Earlier versions took hooks of session_end, an event that was never sent. Stored ones are read and never run, the ids of
// others stay, and no new one is taken.
func TestAStoredHookOfSessionEndNeverRuns(t *testing.T) {
	set, err := resolve(t, `{"hooks":[{"event":"session_end","webhook":{"url":"https://a.example"}},{"event":"turn_end","cel":{"expression":"true"}},{"name":"z","event":"session_end","cel":{"expression":"true"}}]}`)
	if hooks := set.Hooks(); len(hooks) != 2 || hooks[0].ID != "guard:check" || hooks[1].ID != "user_hooks:1" {
		t.Errorf("got %+v", hooks)
	}
	if f := fault.As(err); f == nil || strings.Join(f.Path, " ") != "capabilities 0 config hooks 0 event" || !strings.Contains(f.Message, "session_end") {
		t.Errorf("attached again: %v", err)
	}
}

// Rules: H6.
func TestHooksThatAreRefused(t *testing.T) {
	hook := func(fields string) string {
		return `{"hooks":[{"event":"turn_end","cel":{"expression":"true"}},{` + fields + `}]}`
	}
	for config, path := range map[string]string{
		`{"hook":[]}`:              "hook",
		`{"disabled":"x"}`:         "disabled",
		hook(`"event":"other"`):    "hooks 1 event",
		hook(`"event":""`):         "hooks 1 event",
		hook(`"event":"turn_end"`): "hooks 1",
		hook(`"event":"turn_end","cel":{"expression":"true"},"webhook":{"url":"https://a.example"}`): "hooks 1",
		hook(`"event":"turn_end","cel":{"expression":"1 +"}`):                                        "hooks 1 cel expression",
		hook(`"event":"turn_end","cel":{"expression":"[1]"}`):                                        "hooks 1 cel expression",
		hook(`"event":"turn_end","cel":{"expression":"true"},"onError":"block"`):                     "hooks 1 onError",
		hook(`"event":"turn_end","cel":{"expression":"true"},"timeoutMs":99`):                        "hooks 1 timeoutMs",
		hook(`"event":"turn_end","cel":{"expression":"true"},"timeoutMs":30001`):                     "hooks 1 timeoutMs",
		hook(`"event":"turn_end","cel":{"expression":"true"},"matcher":{"tools":["a"]}`):             "hooks 1 matcher tools",
		hook(`"event":"pre_tool_use","cel":{"expression":"true"},"matcher":{"tools":["a b"]}`):       "hooks 1 matcher tools 0",
		hook(`"event":"pre_tool_use","cel":{"expression":"true"},"matcher":{"when":"'x'"}`):          "hooks 1 matcher when",
		hook(`"event":"turn_end","name":"a b","cel":{"expression":"true"}`):                          "hooks 1 name",
		hook(`"event":"turn_end","webhook":{"url":"/relative"}`):                                     "hooks 1 webhook url",
		hook(`"event":"turn_end","webhook":{"url":"https://127.0.0.1/"}`):                            "hooks 1 webhook url",
		hook(`"event":"turn_end","webhook":{"url":"http://hooks.example.com/"}`):                     "hooks 1 webhook url",
		hook(`"event":"turn_end","webhook":{"url":"http://169.254.169.254/"}`):                       "hooks 1 webhook url",
		hook(`"event":"turn_end","webhook":{"url":"https://a:b@hooks.example.com/"}`):                "hooks 1 webhook url",
		hook(`"event":"turn_end","webhook":{"url":"https://a.example","secret":"x"}`):                "hooks 1 webhook secret",
	} {
		_, err := resolve(t, config)
		if f := fault.As(err); f == nil || strings.Join(f.Path, " ") != "capabilities 0 config "+path {
			t.Errorf("%s: got %v", config, err)
		}
	}
}
