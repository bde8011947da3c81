package wire_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

// What an SDK gets to see, by what was asked for and of whom.
func TestClients(t *testing.T) {
	t.Parallel()
	const stream, document = "text/event-stream; charset=utf-8", "application/json"
	// Each letter is one client: s and d take streams and documents, in upper case they are lenient. It stands with those that get
	// the answer, those that get a *Refused, or, in neither list, those that get an *Unreadable.
	for name, tt := range map[string]struct {
		status        int
		kind, body    string
		gets, refused string
	}{
		"a stream":            {200, stream, "data: 1\n\n", "sS", ""},
		"JSON":                {200, document, `{"a":1}`, "dD", "S"},
		"JSON in a stream":    {200, stream, `{"a":1}`, "sSD", ""},
		"JSON of no type":     {200, "", `{"a":1}`, "SD", ""},
		"JSON of another":     {200, "text/plain", `{"a":1}`, "D", "S"},
		"JSON that is cut":    {200, document, `{"a":`, "", ""},
		"a page":              {200, "text/html", "<html>", "", ""},
		"nothing":             {204, document, "", "", "sd"},
		"another success":     {201, document, `{"a":1}`, "D", "sdS"},
		"a redirect":          {307, document, "-", "", "sdSD"},
		"a refusal":           {400, document, "{}", "", "sdSD"},
		"a failure":           {502, "text/html", "<html>", "", "sdSD"},
		"a document too long": {200, document, `"` + strings.Repeat("x", 9<<20) + `"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Content-Type": nil, "Location": {"http://127.0.0.1:1/"}}
			if tt.kind != "" {
				header.Set("Content-Type", tt.kind)
			}
			s := wiretest.New(t, wiretest.Answer{Status: tt.status, Header: header, Body: tt.body})
			for letter, client := range map[string]*http.Client{
				"s": wire.StreamClient(s.Client, wire.Strict), "S": wire.StreamClient(s.Client, wire.Lenient),
				"d": wire.DocumentClient(s.Client, wire.Strict), "D": wire.DocumentClient(s.Client, wire.Lenient),
			} {
				body, err := get(client, s.URL)
				refused, isRefused := errors.AsType[*wire.Refused](err)
				_, isUnreadable := errors.AsType[*wire.Unreadable](err)
				gets, mayRefuse := strings.Contains(tt.gets, letter), strings.Contains(tt.refused, letter)
				switch {
				case gets != (err == nil) || mayRefuse != isRefused || isUnreadable != (!gets && !mayRefuse):
					t.Errorf("%s gets %v", letter, err)
				case gets:
					wiretest.Same(t, letter+" body", body, tt.body)
				case mayRefuse:
					wiretest.Same(t, letter+" status", refused.Status, tt.status)
					wiretest.Same(t, letter+" refusal", string(refused.Body), tt.body)
				}
			}
		})
	}
}

func get(client *http.Client, url string) (string, error) {
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}
