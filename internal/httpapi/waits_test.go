package httpapi

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// callbackFunc resolves waits as the test says. What tokens are good for is tested with the real service, in sessions and e2e.
type callbackFunc func(token string, out sessions.Outcome) (sessions.Resolved, error)

func (f callbackFunc) ResolveWait(_ context.Context, token string, outcome func(models.OrgID) (sessions.Outcome, error)) (sessions.Resolved, error) {
	if !strings.HasPrefix(token, sessions.TokenPrefix) {
		return sessions.Unknown, nil
	}
	out, err := outcome(models.OrgID{1})
	if err != nil {
		return "", err
	}
	return f(token, out)
}

func TestCallbacks(t *testing.T) {
	b := setup(t)
	var got sessions.Outcome
	b.server.deps.Waits = callbackFunc(func(token string, out sessions.Outcome) (sessions.Resolved, error) {
		got = out
		switch token {
		case "ostw_good":
			return sessions.Accepted, nil
		case "ostw_used":
			return sessions.AlreadyResolved, nil
		case "ostw_invalid":
			return "", fault.New(fault.Invalid, "An error needs a code.").At("errorCode")
		case "ostw_large":
			return "", fault.New(fault.LimitReached, "too large")
		}
		return sessions.Unknown, nil
	})
	json := with("Content-Type", "application/json; charset=utf-8")
	tests := map[string]struct {
		method, token, body string
		change              []func(*http.Request)
		status              int
		want                string
	}{
		"accepted":            {http.MethodPost, "ostw_good", `{"value": {"a": 1}}`, nil, 200, `{"resolution":"ACCEPTED"}`},
		"an error":            {http.MethodPost, "ostw_good", `{"errorCode": "e", "errorMessage": "m", "value": null}`, nil, 200, `{"resolution":"ACCEPTED"}`},
		"used":                {http.MethodPost, "ostw_used", `{"value": 1}`, nil, 409, `{"resolution":"ALREADY_RESOLVED"}`},
		"unknown":             {http.MethodPost, "nonsense", `{"value": 1}`, nil, 404, `{"resolution":"UNKNOWN"}`},
		"nothing":             {http.MethodPost, "ostw_good", `{}`, nil, 400, "it must have a value, which may be null, or an errorCode"},
		"invalid":             {http.MethodPost, "ostw_invalid", `{"value": 1}`, nil, 400, "An error needs a code."},
		"too large a value":   {http.MethodPost, "ostw_large", `{"value": 1}`, nil, 413, codePayloadTooLarge},
		"too large a body":    {http.MethodPost, "ostw_good", `{"value": "` + strings.Repeat("x", waitBody) + `"}`, nil, 413, codePayloadTooLarge},
		"an unknown member":   {http.MethodPost, "ostw_good", `{"result": 1}`, nil, 400, codeBadUserInput},
		"a member twice":      {http.MethodPost, "ostw_good", `{"value": 1, "value": 2}`, nil, 400, codeBadUserInput},
		"a list":              {http.MethodPost, "ostw_good", `[]`, nil, 400, codeBadUserInput},
		"no body":             {http.MethodPost, "ostw_good", ``, nil, 400, codeBadUserInput},
		"a code that is none": {http.MethodPost, "ostw_good", `{"errorCode": 1}`, nil, 400, codeBadUserInput},
		"a form":              {http.MethodPost, "ostw_good", `value=1`, []func(*http.Request){with("Content-Type", "application/x-www-form-urlencoded")}, 415, codeBadUserInput},
		"GET":                 {http.MethodGet, "ostw_good", ``, nil, 405, codeBadUserInput},
		"another site":        {http.MethodPost, "ostw_good", `{"value": 1}`, []func(*http.Request){with("Origin", "http://evil.test"), with("Sec-Fetch-Site", "cross-site")}, 403, codeForbidden},
	}
	for name, tt := range tests {
		got = sessions.Outcome{}
		a := b.do(tt.method, "/v1/waits/"+tt.token, tt.body, append([]func(*http.Request){json}, tt.change...)...)
		if a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.body, tt.status, tt.want)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v", name, a.header)
		}
		switch name {
		case "accepted":
			if string(got.Value) != `{"a": 1}` || got.ErrorCode != nil {
				t.Errorf("given was %+v", got)
			}
		case "an error":
			if *got.ErrorCode != "e" || *got.ErrorMessage != "m" {
				t.Errorf("given was %+v", got)
			}
		}
	}
	if log := b.log.String(); strings.Contains(log, "ostw_") || !strings.Contains(log, waitsPath) {
		t.Error("the log holds tokens, or not even the address")
	}
}

// Who mistypes the address of a callback sends its token all the same.
func TestTokensAreNotLoggedWhereverTheyStand(t *testing.T) {
	b := setup(t)
	for _, path := range []string{"//v1/waits/ostw_secret", "/v1//waits/ostw_secret", "/V1/waits/ostw_secret", "/v1/wait/ostw_secret/", "/ostw_secret", "/v1/waits/%6fstw_secret", "/v1/waits/a/ostw_secret"} {
		b.do(http.MethodPost, path, `{"value": 1}`)
	}
	if log := b.log.String(); strings.Contains(log, "secret") {
		t.Errorf("the log is %s", log)
	}
}

// A token that is good for nothing is refused before anything of the body is read, and bodies that drip take no place from others.
func TestACallbackIsReadForAGoodTokenOnly(t *testing.T) {
	b := setup(t)
	b.server.deps.Waits = callbackFunc(func(string, sessions.Outcome) (sessions.Resolved, error) { return sessions.Accepted, nil })
	const head = " HTTP/1.1\r\nHost: ostler.test\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
	forged := b.raw()
	// Who asks before sending is answered without.
	_, _ = io.WriteString(forged, "POST /v1/waits/forged"+head+"Expect: 100-continue\r\n\r\n")
	if line, err := bufio.NewReader(forged).ReadString('\n'); err != nil || !strings.Contains(line, " 404 ") {
		t.Errorf("a forged token: %q, %v", line, err)
	}
	for range 100 {
		_, _ = io.WriteString(b.raw(), "POST /v1/waits/ostw_good"+head+"\r\n{")
	}
	if a := b.do(http.MethodPost, "/v1/waits/ostw_good", `{"value": 1}`, with("Content-Type", mediaJSON)); a.status != http.StatusOK {
		t.Errorf("beside a hundred that drip: %d %s", a.status, a.body)
	}
}
