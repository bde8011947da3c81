package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
)

// attackMemory is how much may be allocated for an attack before it is refused, in bytes: a document of 4000 tokens takes 1.3 MB to parse, and
// what is too long has to be read first.
func attackMemory(body []byte) uint64 { return uint64(max(2<<20, 10*len(body))) }

// TestAttacksCostLittle is not parallel: it counts what the whole process allocates. It gives each attack to all that happens before an
// operation runs, with nothing cached; what is refused is refused there. What each takes is printed, and the memory is bounded.
func TestAttacksCostLittle(t *testing.T) {
	type cost struct {
		name, outcome string
		allocated     uint64
		most          uint64
		took          time.Duration
	}
	var costs []cost
	for _, a := range attacks.All() {
		engine, err := newEngine(Config{}.withDefaults(), generated.NewExecutableSchema(generated.Config{}), slog.New(slog.DiscardHandler), unmetered{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := []byte(`{"query":` + quote(a.Document) + `}`)
		c := cost{name: a.Name, most: attackMemory(body)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begun := time.Now()
		req, refused := decodeRequest(body)
		if refused == nil {
			_, errs := engine.prepare(context.Background(), req)
			c.outcome = "let through"
			if len(errs) > 0 {
				c.outcome, _ = errs[0].Extensions["code"].(string)
				if limit, ok := errs[0].Extensions["limit"].(string); ok {
					c.outcome = limit
				}
			}
		} else {
			c.outcome = "no request"
		}
		c.took = time.Since(begun)
		runtime.ReadMemStats(&after)
		c.allocated = after.TotalAlloc - before.TotalAlloc
		costs = append(costs, c)
		// Who may sign in and what is asked is told apart later; everything else must be refused here.
		if late := []string{"", codeUnauthenticated}; (c.outcome == "let through") != slices.Contains(late, a.Want) {
			t.Errorf("%s: %s before anything runs, want %s", a.Name, c.outcome, a.Want)
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.allocated, a.allocated) })
	for i, c := range costs {
		if c.allocated > c.most {
			t.Errorf("%s: %d bytes were allocated before it was %s, the most is %d", c.name, c.allocated, c.outcome, c.most)
		}
		if i < 5 {
			t.Logf("S4: %-40s %8d bytes  %12s  %s", c.name, c.allocated, c.took, c.outcome)
		}
	}
	slowest := slices.MaxFunc(costs, func(a, b cost) int { return cmp.Compare(a.took, b.took) })
	t.Logf("S4: %d attacks; the most memory is %d bytes (%s), the most time %s (%s)", len(costs), costs[0].allocated, costs[0].name, slowest.took, slowest.name)
}

// TestAttacksOverEveryTransport sends the attacks to a server by each way that takes a document. None of them panics, none is an error
// without a code, and no answer is large.
func TestAttacksOverEveryTransport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	answers := 0
	check := func(name, over string, status int, text string) {
		t.Helper()
		answers++
		if status >= 500 || len(text) > 4000 || strings.Contains(text, codeInternal) || status >= 400 && !strings.Contains(text, `"code":`) {
			t.Errorf("%s over %s: %d, %d bytes: %.300s", name, over, status, len(text), text)
		}
	}
	socket := b.dial().hello()
	for _, a := range attacks.All() {
		body := `{"query":` + quote(a.Document) + `}`
		for over, change := range map[string][]func(*http.Request){
			"POST": {}, "the new type": {with("Accept", mediaGraphQL)}, "events": {with("Accept", "text/event-stream")},
		} {
			r := b.do(http.MethodPost, "/graphql", body, change...)
			check(a.Name, over, r.status, r.body)
		}
		if a.Want == codeUnauthenticated {
			continue // who is signed in is answered, and the stub of this test has no answers
		}
		socket.send(`{"id":"1","type":"subscribe","payload":` + body + `}`)
		for done := false; !done; {
			var f frame
			_, data, err := socket.conn.Read(t.Context())
			if err != nil || json.Unmarshal(data, &f) != nil {
				t.Fatalf("%s over a socket: %q, %v", a.Name, data, err)
			}
			done = f.Type == "error" || f.Type == "complete"
			check(a.Name, "a socket", http.StatusOK, string(data))
		}
	}
	if strings.Contains(b.log.String(), "panic") {
		t.Error("something panicked: ", b.log.String())
	}
	t.Logf("S4: %d answers", answers)
}
