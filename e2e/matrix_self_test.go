package e2e

import (
	"encoding/json"
	"testing"
)

// TestTheMatrixSeesFaults gives the checks of the matrix answers with a fault in each, and such without one.
func TestTheMatrixSeesFaults(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, kind := range kindsByName {
		ids[kind] = kind + "_1"
	}
	ids["queued"], ids["signin"] = "turn_2", "signin_1"
	s := newSurface(t, ids)
	guarded, _ := s.roots()
	byPath := map[string]operation{}
	for _, o := range append(s.walk(), guarded...) {
		byPath[o.path()] = o
	}
	viewer, nobody, key := &somebody{name: "viewer", may: rolesOf("VIEWER")}, &somebody{name: "nobody"}, &somebody{name: "key", may: rolesOf("OWNER"), key: true}
	const denied, unknown = `"errors": [{"extensions": {"code": "FORBIDDEN"}}]`, `"errors": [{"extensions": {"code": "UNAUTHENTICATED"}}]`
	for _, c := range []struct {
		name, path string
		who        *somebody
		answer     string
		fault      bool
	}{
		{"nobody is refused", "query agents", nobody, `{` + unknown + `}`, false},
		{"nobody is answered", "query agents", nobody, `{"data": {"agents": {"nodes": []}}}`, true},
		{"nobody is told that it is forbidden", "query agents", nobody, `{` + denied + `}`, true},
		{"an answer beside the refusal", "query agents", nobody, `{"data": {"agents": {"nodes": []}}, ` + unknown + `}`, true},
		{"who may is answered", "query agents", viewer, `{"data": {"agents": {"nodes": []}}}`, false},
		{"who may is refused", "query agents", viewer, `{` + denied + `}`, true},
		{"who may not is refused", "query invitations", viewer, `{` + denied + `}`, false},
		{"who may not is answered", "query invitations", viewer, `{"data": {"invitations": {"nodes": []}}}`, true},
		{"who may not gets nothing, unsaid", "query invitations", viewer, `{"data": null}`, true},
		{"an edge that may not be seen is null", "query node.members", viewer, `{"data": {"node": {"__typename": "Org", "members": null}}}`, false},
		{"an edge that may not be seen is not null", "query node.members", viewer, `{"data": {"node": {"__typename": "Org", "members": {"totalCount": 1}}}}`, true},
		{"an error of the server's", "query agents", viewer, `{"errors": [{"extensions": {"code": "INTERNAL"}}]}`, true},
		{"a key at one's own sign-ins", "query signIns", key, `{"data": {"signIns": [{"id": "signin_1"}]}}`, true},
		{"a key that is sent away from one's own sign-ins", "query signIns", key, `{` + denied + `}`, false},
	} {
		o, ok := byPath[c.path]
		if !ok {
			t.Fatalf("no operation is %s", c.path)
		}
		faults := 0
		m := &matrix{T: t, surface: s, reached: map[string]bool{}, found: func(string) { faults++ }}
		r := &reply{Status: 200, Body: []byte(c.answer)}
		if err := json.Unmarshal(r.Body, r); err != nil {
			t.Fatal(err)
		}
		if m.judge(c.who, o, r); (faults > 0) != c.fault {
			t.Errorf("%s: %d faults were found", c.name, faults)
		}
	}

	faults := 0
	m := &matrix{T: t, surface: s, secret: []string{"their name"}, found: func(string) { faults++ }}
	m.keepsSecret(byPath["query agents"], &reply{Body: []byte(`{"data": "our name"}`)}, "")
	m.unchanged("rows", map[string][]string{"a": {"1"}}, map[string][]string{"a": {"1"}})
	if faults != 0 {
		t.Errorf("%d faults where there was none", faults)
	}
	m.keepsSecret(byPath["query agents"], &reply{Body: []byte(`{"data": "their name"}`)}, "")
	m.unchanged("rows", map[string][]string{"a": {"1"}}, map[string][]string{"a": {"2"}})
	m.unchanged("rows", map[string][]string{"a": {"1"}}, map[string][]string{})
	if faults != 4 {
		t.Errorf("%d faults were found, want 4: a text, a changed row twice, a lost one", faults)
	}
	for answer, want := range map[string]bool{
		`{"data": {"models": {"nodes": [], "totalCount": 0}}}`: true, `{"data": {"models": {"nodes": [{"id": "x"}]}}}`: false,
		`{"data": {"models": {"nodes": [], "totalCount": 1}}}`: false, `{"errors": [{"extensions": {"code": "NOT_FOUND"}}]}`: true,
	} {
		r := &reply{}
		if err := json.Unmarshal([]byte(answer), r); err != nil {
			t.Fatal(err)
		}
		if got := m.finds(byPath["query models"], "Query.models(providerId)", r); got != want {
			t.Errorf("%s: %v", answer, got)
		}
	}
}
