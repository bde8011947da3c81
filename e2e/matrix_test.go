package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
)

// personal are the fields that are about oneself, such as one's sign-ins: a key is refused, whatever it may do.
var personal = []string{
	"Query.signIns", "Mutation.changePassword", "Mutation.switchOrg", "Mutation.createOrg", "Mutation.revokeSignIn", "Mutation.updateViewer",
	"Mutation.setWaitMail",
	"Query.savedViews", "Mutation.saveView", "Mutation.deleteSavedView",
}

// unreached are types that the organization of the test has nothing of, and why. Nobody may read them either; but only that the way to
// them is closed can be shown here, not what they themselves need.
var unreached = map[string]string{
	"CaughtUp": live, "OutputDelta": live, "ThinkingDelta": live, "ToolProgress": live, "GenerationRetrying": live,
	"Payment": paid, "PaymentEdge": paid, "PaymentTerms": paid, "ContextCompacted": "it takes a conversation that doesn't fit", "HookRan": faulty, "ReasonRecovered": faulty, "ToolCallRepaired": faulty, "TranscriptRepaired": faulty, "TurnFailed": faulty,
}

const (
	live   = "it is in no log, only in streams"
	faulty = "it takes a fault, or a hook"
	paid   = "it takes a tool that pays, and no built-in one does"
)

// matrix tries the API as everybody.
type matrix struct {
	*testing.T
	surface *surface
	// found is told of each fault; without it the test fails.
	found func(fault string)
	// secret must be in no answer, nor any of these.
	secret []string

	mu    sync.Mutex
	cases int
	// reached are the ways, by the text of their operation, that led the owner to a value.
	reached map[string]bool
}

// Errorf notes a fault.
func (m *matrix) Errorf(format string, args ...any) {
	m.Helper()
	if m.found != nil {
		m.found(fmt.Sprintf(format, args...))
		return
	}
	m.T.Errorf(format, args...)
}

// count counts fields × identities.
func (m *matrix) count(o operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cases += max(1, len(o.covers))
}

// each runs a check for each operation, a few at a time.
func (m *matrix) each(operations []operation, check func(operation)) {
	m.Helper()
	var workers sync.WaitGroup
	next := make(chan operation)
	for range 4 {
		workers.Go(func() {
			for o := range next {
				check(o)
			}
		})
	}
	for _, o := range operations {
		next <- o
	}
	close(next)
	workers.Wait()
}

// ask runs an operation over POST. id is what stands for $id.
func (m *matrix) ask(who *client, o operation, id string) *reply {
	m.Helper()
	var variables map[string]any
	if id != "" {
		variables = map[string]any{"id": id}
	}
	r, err := who.send(document(o.String(), variables))
	if err != nil {
		m.Errorf("%s: %v", o.path(), err)
		return &reply{}
	}
	m.keepsSecret(o, r, id)
	m.count(o)
	return r
}

// keepsSecret looks for what is another organization's in an answer; what was asked with may come back.
func (m *matrix) keepsSecret(o operation, r *reply, id string) {
	m.Helper()
	text := string(r.Body)
	if id != "" {
		text = strings.ReplaceAll(text, id, "")
	}
	for _, secret := range m.secret {
		if strings.Contains(text, secret) {
			m.Errorf("%s: the answer holds %q, which is another organization's: %.400s", o, secret, text)
		}
	}
}

// judge checks an answer against the oracle.
func (m *matrix) judge(who *somebody, o operation, r *reply) {
	m.Helper()
	wrong := func(format string, args ...any) {
		m.Helper()
		m.Errorf("%s, %s: %s\n%s\n%.600s", who.name, o.path(), fmt.Sprintf(format, args...), o, r.Body)
	}
	if hasCode(r, "INTERNAL", "BAD_USER_INPUT", "QUERY_TOO_COMPLEX", "GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED") || r.Status >= 500 {
		wrong("this is an error of the server's, or of this test")
	}
	if o.root().field.Directives.ForName("public") != nil {
		if len(r.Errors) > 0 {
			wrong("is for everybody")
		}
		return
	}
	if who.may == nil {
		if !hasCode(r, "UNAUTHENTICATED") || len(m.values(r, o.steps[:1])) > 0 {
			wrong("must be refused as nobody")
		}
		return
	}
	for i, s := range o.steps {
		field, value := m.surface.needs(s)
		byField, byValue := field != "" && !who.may[field], value != "" && !who.may[value]
		if !byField && !byValue {
			continue
		}
		if len(m.values(r, o.steps[:i+1])) > 0 {
			wrong("%s is shown without %s %s", s.coordinate(), field, value)
		}
		if (s.field.Type.NonNull || i == 0 && byField) && !hasCode(r, "FORBIDDEN") {
			wrong("%s must be refused", s.coordinate())
		}
		if i > 0 && m.reached[o.String()] && !m.about(o) && len(m.values(r, o.steps[:i])) == 0 {
			wrong("%s is not shown, so that nothing was refused", o.steps[i-1].coordinate())
		}
		return
	}
	if who.key && slices.Contains(personal, o.root().coordinate()) {
		if !strings.Contains(string(r.Body), "FORBIDDEN") {
			wrong("is for people alone")
		}
		return
	}
	if hasCode(r, "FORBIDDEN", "UNAUTHENTICATED") {
		wrong("must not be refused")
	}
	if m.reached[o.String()] && !m.about(o) && len(m.values(r, o.steps)) == 0 {
		wrong("shows nothing, and the owner sees something")
	}
}

// about reports whether the operation is about who asks, so that others don't see what the owner sees.
func (*matrix) about(o operation) bool {
	return slices.Contains([]string{"viewer", "signIns", "savedViews"}, o.root().field.Name)
}

// TestEveryFieldAsEverybody tries every field of the schema as everybody: what the table of permissions allows is shown, all else is
// refused, and nothing has changed afterwards. Then it puts the ids of another organization wherever an id goes: the answers are those
// for ids that nobody has. The operations are made from the schema.
func TestEveryFieldAsEverybody(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		issuer := oidctest.Start(t)
		env := place.withIssuer(issuer.URL)
		env["OSTLER_ORG_CREATION"] = "everybody" // or it would be refused to some for a reason that is not in the table of permissions
		p := start(t, env)
		owner := signIn(t, p)
		b, people := otherOrganization(t, p, owner)
		a := newTenant(t, owner)
		a.furnish(t, "ours")
		m := &matrix{T: t, surface: newSurface(t, a.ids), reached: map[string]bool{}}
		m.secret = append(slices.Collect(maps.Values(b.ids)), theirMark)
		known, unknown := everybody(t, place, p, issuer, owner)

		guarded, public := m.surface.roots()
		walk := m.surface.walk()
		if list := m.surface.missing(slices.Concat(guarded, public, walk)); len(list) > 0 {
			t.Errorf("no operation reaches %v", list)
		}
		m.explore(owner, walk)
		before, beforeB := place.rowsOf(t, a.Org, a.ids["user"]), place.rowsOf(t, b.Org, people...)
		m.refusals(known, unknown, guarded, walk)
		refused := m.cases
		m.unchanged("after what was refused, the own organization", before, place.rowsOf(t, a.Org, a.ids["user"]))
		holes := m.foreign(known[0], known[1], b)
		m.permitted(known, guarded)
		m.unchanged("the other organization", beforeB, place.rowsOf(t, b.Org, people...))
		if out := p.out.String(); strings.Contains(out, "panic") || strings.Contains(out, "level=ERROR") {
			t.Error("the server logged an error")
		}
		t.Logf("S1 on %s: %d fields × %d identities tried by %d operations: %d cases of queries and refusals, %d in all; %d places for ids, each with %d foreign ids",
			place.kind, len(coordinates(guarded, walk)), len(known)+len(unknown), len(guarded)+len(walk), refused, m.cases, holes, len(b.ids))
		if len(guarded) < 60 || len(walk) < 300 || refused < 20_000 || holes < 60 {
			t.Errorf("%d roots, %d queries, %d cases, %d places for ids: the walk missed most of the schema", len(guarded), len(walk), refused, holes)
		}
	})
}

func coordinates(lists ...[]operation) map[string]bool {
	all := map[string]bool{}
	for _, o := range slices.Concat(lists...) {
		for _, c := range o.covers {
			all[c] = true
		}
	}
	return all
}

const theirMark = "theirs-7c1e"

// otherOrganization makes an organization of people who are in no other one. Who made it is gone from it.
func otherOrganization(t *testing.T, p *process, owner *client) (b *tenant, people []string) {
	t.Helper()
	founder, _ := owner.newMember(t, "founder@example.com", "VIEWER")
	founder = founder.switchOrg(t, founder.createOrg(t, theirMark+" org"))
	theirs, _ := founder.newMember(t, theirMark+"@example.com", "OWNER")
	theirs.do(t, `mutation($id: ID!) { removeMember(membershipId: $id) { userErrors { code message } } }`,
		map[string]any{"id": theirs.membership(t, "founder@example.com")}, nil)
	b = newTenant(t, theirs)
	b.furnish(t, theirMark)
	return b, []string{b.ids["user"]}
}

// explore asks everything as the owner, who may see all of it, and notes what there is to see.
func (m *matrix) explore(owner *client, walk []operation) {
	m.Helper()
	found := map[string]bool{}
	for _, o := range walk {
		r := m.ask(owner, o, "")
		if len(r.Errors) > 0 {
			m.Errorf("%s as the owner: %.400s\n%s", o.path(), r.Body, o)
		}
		last := o.steps[len(o.steps)-1]
		if len(m.values(r, o.steps)) > 0 {
			m.reached[o.String()], found[last.on] = true, true
		} else if !found[last.on] {
			found[last.on] = false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		_, excused := unreached[name]
		if !found[name] && !excused {
			m.Errorf("the organization of this test has no %s: add one to furnish, or a line to unreached that says why not", name)
		}
		if found[name] && excused {
			m.Errorf("there is a %s: take it off the list unreached", name)
		}
	}
	m.Logf("%d of %d ways lead to something", len(m.reached), len(walk))
}

// refusals tries everything that changes nothing: queries as everybody, and all the rest as those who may not.
func (m *matrix) refusals(known, unknown []*somebody, guarded, walk []operation) {
	m.Helper()
	for _, who := range slices.Concat(known, unknown) {
		m.each(guarded, func(o operation) {
			field, _ := m.surface.needs(o.root())
			switch {
			case o.kind == "query" || o.kind == "mutation" && !who.may[field]:
				m.judge(who, operation{kind: o.kind, steps: o.steps}, m.ask(who.client, o, ""))
			case o.kind == "subscription" && who.may != nil:
				r := who.overSocket(m.T, o.String(), nil)
				m.keepsSecret(o, r, "")
				m.count(o)
				m.judge(who, o, r)
			}
		})
		m.each(walk, func(o operation) { m.judge(who, o, m.ask(who.client, o, "")) })
		if who.may == nil {
			if code := who.initCode(m.T); code != 4403 {
				m.Errorf("%s: a socket was closed with %d, want 4403", who.name, code)
			}
		}
	}
}

// foreign puts ids of another organization, of every kind, wherever an id goes, and compares with ids that nobody has. What is for operators
// alone is about any organization, so an operator tries ids that nobody has, and an owner who is none is refused whatever the id.
func (m *matrix) foreign(operator, owner *somebody, b *tenant) (holes int) {
	m.Helper()
	all := m.surface.holes()
	at := map[string]hole{}
	var operations []operation
	for _, h := range all {
		if h.coordinate == "SignInInput.orgId" || h.operation.kind == "subscription" {
			continue // the first costs a hash for each, see TestBadInput; the others are in TestForeignIDs
		}
		at[h.operation.String()] = h
		operations = append(operations, h.operation)
	}
	m.each(operations, func(o operation) {
		field, _ := m.surface.needs(o.root())
		platform := strings.HasPrefix(field, "PLATFORM_")
		for kind, id := range b.ids {
			unknown := unknownID(id)
			first, second := m.ask(owner.client, o, unknown), m.ask(owner.client, o, id)
			want, got := answerText(first, unknown), answerText(second, id)
			if got != want {
				m.Errorf("%s tells a foreign %s from an unknown one:\nforeign: %s\nunknown: %s\n%s", at[o.String()].coordinate, kind, got, want, o)
			}
			if platform {
				if !hasCode(second, "FORBIDDEN") {
					m.Errorf("%s is not refused to an owner: %s\n%s", at[o.String()].coordinate, got, o)
				}
				first = m.ask(operator.client, o, unknown)
				want = answerText(first, unknown)
			}
			if !m.finds(o, at[o.String()].coordinate, first) {
				m.Errorf("%s with an id that nobody has: %s\n%s", at[o.String()].coordinate, want, o)
			}
		}
	})
	return len(operations)
}

// unknownID returns an id like another one, that nobody has.
func unknownID(like string) string {
	prefix, _, _ := strings.Cut(like, "_")
	fresh, _ := uuid.NewV7()
	return prefix + "_" + strings.ReplaceAll(fresh.String(), "-", "")
}

// passedOver are places where what isn't there is left out, as it is of an agent whose model is gone.
var passedOver = []string{"CreateAgentInput.defaultModelId", "CreateAgentInput.fallbackModelIds"}

// finds reports whether an answer is as it must be for an id that nobody has: NOT_FOUND, null, or a list without anything in it.
func (m *matrix) finds(o operation, coordinate string, r *reply) bool {
	if o.kind == "mutation" {
		return strings.Contains(string(r.Data), `"code":"NOT_FOUND"`)
	}
	if hasCode(r, "NOT_FOUND") {
		return true
	}
	if below := m.values(r, o.steps); len(o.steps) > 1 && !slices.ContainsFunc(below, func(v any) bool { return v != nil }) {
		return true
	}
	for _, v := range m.values(r, o.steps[:1]) {
		list, ok := v.(map[string]any)
		nodes, isList := list["nodes"]
		if count, has := list["totalCount"]; !ok || !isList && !slices.Contains(passedOver, coordinate) || len(flat(nodes)) > 0 || has && count != 0.0 {
			return false
		}
	}
	return true
}

// permitted tries the mutations as those who may: they are not refused. What they would change has ids that nobody has, where
// there is a place for one.
func (m *matrix) permitted(known []*somebody, guarded []operation) {
	m.Helper()
	byRoot := map[string]hole{}
	for _, h := range m.surface.holes() {
		root := h.operation.root().coordinate()
		if _, ok := byRoot[root]; !ok || strings.HasPrefix(h.coordinate, root) {
			byRoot[root] = h
		}
	}
	for _, who := range known {
		m.each(guarded, func(o operation) {
			field, _ := m.surface.needs(o.root())
			if o.kind != "mutation" || !who.may[field] {
				return
			}
			id := ""
			if h, ok := byRoot[o.root().coordinate()]; ok {
				o, id = h.operation, unknownID(m.surface.ids[h.kind])
			}
			m.judge(who, operation{kind: o.kind, steps: o.steps[:1]}, m.ask(who.client, o, id))
		})
	}
}
