package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestTrustedDocuments has a server that takes nothing but the dashboard's documents from cookie sessions. That the dashboard
// works with it is shown in web/e2e, whose servers are all set like this.
func TestTrustedDocuments(t *testing.T) {
	t.Parallel()
	place := newPlace(t, "sqlite")
	p := start(t, place.with(map[string]string{"OSTLER_TRUSTED_DOCUMENTS": "cookies", "OSTLER_ENV": "production"}))
	b := newBrowser(t, p)
	b.signIn(t) // nobody's request: there are no cookies yet
	trusted := func(name string) (hash, text string) {
		t.Helper()
		manifest, err := os.ReadFile("../web/trusted/current.json")
		if err != nil {
			t.Fatal(err)
		}
		var documents map[string]string
		if err := json.Unmarshal(manifest, &documents); err != nil {
			t.Fatal(err)
		}
		for hash, text := range documents {
			if strings.HasPrefix(text, name) {
				return hash, text
			}
		}
		t.Fatalf("the dashboard has no %s", name)
		return "", ""
	}
	hash, text := trusted("query Viewer ")
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"the dashboard's document":     {document(text, nil), ""},
		"its id":                       {encode(map[string]any{"documentId": "sha256:" + hash}), ""},
		"its hash":                     {encode(map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}}}), ""},
		"another document":             {document(`{ viewer { user { email } } }`, nil), "DOCUMENT_NOT_TRUSTED"},
		"an unknown hash":              {encode(map[string]any{"documentId": "sha256:" + strings.Repeat("0", 64)}), "DOCUMENT_NOT_TRUSTED"},
		"a document that needs nobody": {document(`{ serverInfo { name } }`, nil), "DOCUMENT_NOT_TRUSTED"},
		"a refresh of one's own, with the same cookies": {document(`mutation { refreshTokens { tokens { expiresAt } } }`, nil), "DOCUMENT_NOT_TRUSTED"},
	} {
		r, err := b.send(c.body, b.from(b.origin, "same-origin"))
		if err != nil {
			t.Fatal(err)
		}
		code := ""
		if len(r.Errors) > 0 {
			code = r.Errors[0].Code()
		}
		if r.Status != http.StatusOK || code != c.want {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	signIn(t, p).do(t, `{ viewer { user { email } } }`, nil, nil)
}
