package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhatIsAnErrorOfAnOperation(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"data":{"a":{"id":"1","userErrors":[]}}}`:                                       "",
		`{"data":null,"errors":[{"message":"gone","extensions":{"code":"NOT_FOUND"}}]}`:   "NOT_FOUND: gone",
		`{"data":{"a":{"id":null,"userErrors":[{"code":"INVALID","message":"a name"}]}}}`: "INVALID",
		`503`:         "503 Service Unavailable: is stopping",
		`no JSON`:     "not JSON",
		`{"data":[]}`: "no data",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/graphql" || r.Header.Get("Authorization") != "Bearer token" {
				t.Errorf("asked %s with %v", r.URL, r.Header)
			}
			if body == "503" {
				http.Error(w, "is stopping", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, body)
		}))
		var out struct{ A struct{ ID string } }
		err := New(server.URL).As("token").Do(context.Background(), `{ a { id } }`, nil, &out)
		switch {
		case want == "" && (err != nil || out.A.ID != "1"):
			t.Errorf("%s: %v, %+v", body, err, out)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", body, err, want)
		}
		if first := (Error{}); strings.HasPrefix(want, "NOT_FOUND") && (!errors.As(err, &first) || first.Code() != "NOT_FOUND") {
			t.Errorf("%s: %#v is no Error", body, err)
		}
		server.Close()
	}
}
