package events_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
)

var update = flag.Bool("update", false, "write docs/events.md anew")

const document = "../../docs/events.md"

// Rules: E1.
func TestTheDocumentIsCurrent(t *testing.T) {
	want := documentOf(events.Table())
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatal("docs/events.md is not what the table says; run: go test ./internal/events -run TestTheDocumentIsCurrent -update")
	}
}

// schemaKinds reads the enum from the schema itself.
func schemaKinds(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../graph/schema/events.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)enum EventKind \{(.*?)\n\}`).FindSubmatch(b)
	if m == nil {
		t.Fatal("the schema has no enum EventKind")
	}
	return strings.Fields(string(m[1]))
}

// Rules: E1.
func TestTheTableHasTheKindsOfTheSchema(t *testing.T) {
	var kinds []string
	for _, r := range events.Table() {
		kinds = append(kinds, string(r.Kind()))
	}
	if want := schemaKinds(t); !slices.Equal(kinds, want) {
		t.Fatalf("the table has\n%v, the schema\n%v", kinds, want)
	}
}

// Rules: E1.
func TestEachKindIsDecodedToItsPayload(t *testing.T) {
	for _, r := range events.Table() {
		data, err := json.Marshal(r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		p, err := events.Decode(r.Kind(), data)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.TypeOf(p) != reflect.TypeOf(r.Payload) {
			t.Errorf("%s is decoded to %T", r.Kind(), p)
		}
		if slices.Contains(fieldsOf(r), "") {
			t.Errorf("%s has a field without a name in JSON", r.Kind())
		}
	}
}

// Rules: E2.
func TestWhatIsOpenedIsClosed(t *testing.T) {
	opens, closes := map[events.Thing]bool{}, map[events.Thing]bool{}
	for _, r := range events.Table() {
		opens[r.Opens], closes[r.Closes] = true, true
		if !r.Durable && (r.Opens != "" || r.Closes != "" || r.OrgFeed) {
			t.Errorf("%s is ephemeral: nothing may depend on it", r.Kind())
		}
		feed := slices.ContainsFunc([]string{"SESSION_", "TURN_", "APPROVAL_", "TOOL_CALLS_REQUESTED", "BUDGET_"}, func(prefix string) bool {
			return strings.HasPrefix(string(r.Kind()), prefix)
		})
		if feed != r.OrgFeed {
			t.Errorf("%s: in the org feed is %v", r.Kind(), r.OrgFeed)
		}
	}
	if !reflect.DeepEqual(opens, closes) {
		t.Fatalf("opened: %v, closed: %v", opens, closes)
	}
}
