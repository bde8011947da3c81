package hooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/tools"
)

// What receivers rely on: the envelope of each event, byte for byte but for the ids.
//
// Rules: H2.
func TestWebhooksAreSentTheEvent(t *testing.T) {
	server := receive(t, says(""))
	r := runner(t, nil)
	names := strings.NewReplacer(orgID.String(), "ORG", sessionID.String(), "SESSION", turnID.String(), "TURN", agentID.String(), "AGENT")
	for event, data := range map[tools.HookEvent]string{
		tools.HookSessionStart:     `{}`,
		tools.HookUserPromptSubmit: `{"message":"Hello"}`,
		tools.HookPreToolUse:       `{"arguments":{"path":"/workspace/a","mode":"x"},"tool":"write_file","toolCallId":"call_1","toolId":"files.write_file"}`,
		tools.HookPostToolUse:      `{"arguments":{"path":"/workspace/a","mode":"x"},"result":{"size":3,"secret":"abc"},"tool":"write_file","toolCallId":"call_1","toolId":"files.write_file"}`,
		tools.HookTurnEnd:          `{"stopReason":"END_TURN","success":true}`,
	} {
		before := len(server.requests())
		out := run(t, r, happens(event), webhook(event, server.URL+"/hook"))
		if out.Decision != hooks.Allow || len(out.Runs) != 1 || out.Runs[0].Failure != "" || out.Runs[0].Executor != "webhook" {
			t.Errorf("%s: got %+v", event, out)
		}
		requests := server.requests()
		if len(requests) != before+1 {
			t.Fatalf("%s: %d requests were made", event, len(requests)-before)
		}
		req := requests[before]
		ids := `"turnId":"TURN","agentId":"AGENT",`
		if event == tools.HookSessionStart {
			ids = ""
		}
		want := fmt.Sprintf(`{"event":"%s","hookId":"c:h","orgId":"ORG","sessionId":"SESSION",%s"ts":"2027-01-15T08:00:00.123Z","data":%s}`, event, ids, data)
		if got := names.Replace(string(req.body)); got != want {
			t.Errorf("%s: the body is\n%s, want\n%s", event, got, want)
		}
		if got, want := req.header.Get("Ostler-Delivery"), "turn_1:"+string(event)+":c:h"; got != want || out.Runs[0].Delivery != want {
			t.Errorf("%s: the delivery is %q and %q, want %q", event, got, out.Runs[0].Delivery, want)
		}
		mac := hmac.New(sha256.New, []byte("shh"))
		mac.Write([]byte("1800000000." + string(req.body)))
		if got, want := req.header.Get("Ostler-Signature"), "t=1800000000,v1="+hex.EncodeToString(mac.Sum(nil)); got != want {
			t.Errorf("%s: the signature is %s, want %s", event, got, want)
		}
		if got := req.header.Get("Content-Type"); got != "application/json" {
			t.Errorf("the content type is %q", got)
		}
	}
}

func TestAFailedCallIsSentWithItsError(t *testing.T) {
	server := receive(t, says(""))
	e := happens(tools.HookPostToolUse)
	e.Result, e.Error = nil, "no such file"
	run(t, runner(t, nil), e, webhook(tools.HookPostToolUse, server.URL))
	var body struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(server.requests()[0].body, &body); err != nil {
		t.Fatal(err)
	}
	if _, has := body.Data["result"]; has || body.Data["error"] != "no such file" {
		t.Errorf("got %v", body.Data)
	}
}

// Rules: H4.
func TestWebhooksDecide(t *testing.T) {
	r := runner(t, nil)
	event := tools.HookPreToolUse
	out := run(t, r, happens(event),
		webhook(event, receive(t, says(`{"decision":"mutate","patch":{"arguments":{"mode":"y"}}}`)).URL),
		webhook(event, receive(t, func(w http.ResponseWriter, body []byte) {
			if !strings.Contains(string(body), `"mode":"y"`) {
				t.Errorf("it doesn't see the change before it: %s", body)
			}
			w.WriteHeader(http.StatusAccepted)
			says(` {"decision":"block","reason":"no","userMessage":"Sorry.","unknown":1} `)(w, nil)
		}).URL))
	if out.Decision != hooks.Block || out.Reason != "no" || out.UserMessage != "Sorry." || string(out.Arguments) != `{"mode":"y","path":"/workspace/a"}` {
		t.Errorf("got %+v", out)
	}
}

// Rules: H2, H6.
func TestWebhooksThatFail(t *testing.T) {
	event := tools.HookPreToolUse
	stop := make(chan struct{})
	defer close(stop)
	closed := receive(t, says(""))
	closed.Close()
	redirect := receive(t, func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("Location", "https://example.com/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	patient := func(w http.ResponseWriter, _ []byte) {
		w.(http.Flusher).Flush()
		<-stop
	}
	for name, c := range map[string]struct {
		url    string
		change func(*hooks.Config)
		want   string
	}{
		"status":      {receive(t, func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusInternalServerError) }).URL, nil, "status 500"},
		"gone":        {closed.URL, nil, "could not be reached"},
		"no answer":   {receive(t, func(http.ResponseWriter, []byte) { <-stop }).URL, nil, "within 100 ms"},
		"half answer": {receive(t, patient).URL, nil, "within 100 ms"},
		"redirect":    {redirect.URL, nil, "redirect"},
		"too much":    {receive(t, says(`{"decision":"allow","reason":"`+strings.Repeat("x", hooks.MaxOutputBytes)+`"}`)).URL, nil, "65536"},
		"no JSON":     {receive(t, says(`<html>`)).URL, nil, "not a JSON object"},
		"a list":      {receive(t, says(`[]`)).URL, nil, "not a JSON object"},
		"null":        {receive(t, says(`null`)).URL, nil, "no decision"},
		"two answers": {receive(t, says(`{"decision":"allow"}{"decision":"block"}`)).URL, nil, "followed by something else"},
		"no UTF-8":    {receive(t, says("{\"decision\":\"allow\",\"reason\":\"\xff\"}")).URL, nil, "UTF-8"},
		"no secret":   {closed.URL, func(c *hooks.Config) { c.Secrets = secret("") }, "can't be signed"},
		"private":     {"https://10.0.0.1/", nil, "private network"},
		"metadata":    {"http://169.254.169.254/latest", nil, "can't be called"},
		"loopback":    {closed.URL, func(c *hooks.Config) { c.Client = egress.New(egress.Config{}).HTTP() }, "own machine"},
		"no address":  {"https://", nil, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := webhook(event, c.url)
			spec.OnError = tools.OnErrorBlock
			if strings.HasSuffix(name, "answer") {
				spec.Timeout = tools.MinHookTimeout
			}
			out := run(t, runner(t, c.change), happens(event), spec)
			ran := out.Runs[0]
			if out.Decision != hooks.Block || !strings.Contains(ran.Failure, c.want) || ran.Err == nil {
				t.Errorf("got %+v, want %q", ran, c.want)
			}
			for _, text := range []string{ran.Failure, out.Reason} {
				if strings.Contains(text, "10.1.2.3") || strings.Contains(text, "127.0.0.1:") && name == "gone" || strings.Contains(text, "shh") {
					t.Errorf("%q tells what only the log may know", text)
				}
			}
		})
	}
}

// RFC 7396, appendix A, inside of a member.
func TestMergePatches(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":"foo"}`, `{"b":null}`, `{"a":"foo"}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"big":9007199254740993}`, `{"other":9007199254740995}`, `{"big":9007199254740993,"other":9007199254740995}`},
	} {
		e := happens(tools.HookPreToolUse)
		e.Call.Arguments = json.RawMessage(c[0])
		server := receive(t, says(`{"decision":"mutate","patch":{"arguments":`+c[1]+`}}`))
		out := run(t, runner(t, nil), e, webhook(tools.HookPreToolUse, server.URL))
		var got, want any
		if json.Unmarshal(out.Arguments, &got) != nil || json.Unmarshal([]byte(c[2]), &want) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s with %s: got %s, want %s; %+v", c[0], c[1], out.Arguments, c[2], out.Runs)
		}
		if strings.Contains(c[0], "big") && string(out.Arguments) != c[2] {
			t.Errorf("numbers lose digits: %s", out.Arguments)
		}
	}
}
