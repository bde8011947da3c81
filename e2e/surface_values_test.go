package e2e

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// What the generator of operations can't know by itself. When a field or an argument is new and its test fails, a line here helps.

// namesOnly are fields of the type ID that name things of the server's own, which are the same for everybody.
var namesOnly = []string{"CapabilityRefInput.id"}

// idKinds tells what an id is of where its name doesn't: a key of tenant.ids. Empty: ids of every kind are taken.
var idKinds = map[string]string{
	"Query.node(id)":                  "",
	"Mutation.moveQueuedTurn(turnId)": "queued",
	"Mutation.moveQueuedTurn(before)": "queued",
	"Mutation.editQueuedTurn(turnId)": "queued",
	"CreateHarnessInput.parentId":     "harn",
	"AuditFilter.actorId":             "user",
	"Mutation.revokeSignIn(id)":       "signin",
	"TestProviderInput.id":            "prov",
	// There are none here; see unreached.
	"Mutation.settlePayment(id)": "",
}

// kindsByName tells it for all that are called so, as `agentId`, `agentIds`, `archiveAgent(id)` or `agent(id)`.
var kindsByName = map[string]string{
	"agent": "agent", "apiKey": "key", "defaultHarness": "harn", "defaultModel": "model", "fallbackModel": "model", "harness": "harn",
	"image": "img", "invitation": "inv", "membership": "mship", "model": "model", "org": "org", "provider": "prov", "session": "sess",
	"throughTurn": "turn", "turn": "turn", "wait": "wait", "auditEntry": "audit", "message": "msg", "user": "user",
	"webhook": "hook", "delivery": "dlv", "budget": "bdgt", "ledgerEntry": "ldgr", "paymentPolicy": "ppol", "savedView": "view", "view": "view",
}

// valuesOf gives literals for places that need a certain one, by Type.field(argument) or Input.field. Optional arguments that are
// here are given, too.
var valuesOf = map[string]string{
	"Subscription.sessionEvents(after)": "0",
	"Subscription.orgEvents(after)":     `"start"`,
	"Session.events(first)":             "100",
	"ToolResultInput.result":            "1",
	"Session.match(search)":             `"spends"`,
	"Session.file(path)":                `"/workspace/notes.txt"`,
	"SignInInput.password":              `"not the password of anybody"`,
	"Mutation.changePassword(current)":  `"not the password of anybody"`,
	"Mutation.changePassword(new)":      `"another long password"`,
	"InviteMemberInput.email":           `"somebody@example.com"`,
	"InviteMemberInput.role":            "VIEWER",
	"Mutation.setMemberRole(role)":      "VIEWER",
	"CreateApiKeyInput.permissions":     "[ORG_READ]",
	"CreateProviderInput.kind":          "SIMULATED",
	"SendMessageInput.delivery":         "QUEUE",
	"ClientToolInput.inputSchema":       `{type: "object"}`,
	"Mutation.writeSessionFile(path)":   `"/workspace/written.txt"`,
	"CreateBudgetInput.subject":         "CUSTOMER",
	"CreateBudgetInput.currency":        `"tokens"`,
	"CreateWebhookInput.url":            `"https://hooks.invalid/x"`,
	"CreateWebhookInput.kinds":          "[TURN_COMPLETED]",
	"Query.usage(groupBy)":              "[MODEL, AGENT, USER, SESSION]",
	"Query.failures(from)":              time.Now().Add(-24 * time.Hour).UTC().Format(`"` + time.RFC3339 + `"`),
	"Query.failures(to)":                time.Now().Add(24 * time.Hour).UTC().Format(`"` + time.RFC3339 + `"`),
	"Query.operations(from)":            time.Now().Add(-24 * time.Hour).UTC().Format(`"` + time.RFC3339 + `"`),
	"Query.operations(to)":              time.Now().Add(24 * time.Hour).UTC().Format(`"` + time.RFC3339 + `"`),
	"Query.usage(from)":                 time.Now().Add(-24 * time.Hour).UTC().Format(`"` + time.RFC3339 + `"`),
	"Query.usage(to)":                   time.Now().Add(24 * time.Hour).UTC().Format(`"` + time.RFC3339 + `"`),
}

// literals are what is given for scalars that nothing else is said about.
var literals = map[string]string{
	"String": `"x"`, "Int": "1", "Int64": "1", "Boolean": "true", "Float": "1", "Decimal": `"1"`, "JSON": "{}", "Time": `"2030-01-01T00:00:00Z"`,
}

var actionOf = regexp.MustCompile(`^[a-z]+`)

// kindOf returns what ids a place takes.
func (s *surface) kindOf(coordinate, field string) string {
	if kind, ok := idKinds[coordinate]; ok {
		return kind
	}
	name := coordinate[strings.LastIndexAny(coordinate, ".(")+1:]
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ")"), "s"), "Id")
	if name == "id" {
		// Of a mutation it is what the action is done to, of a query the thing itself.
		name = field
		if what := actionOf.ReplaceAllString(field, ""); what != "" {
			name = strings.ToLower(what[:1]) + what[1:]
		}
	}
	for _, n := range []string{name, field} {
		if kind, ok := kindsByName[n]; ok {
			return kind
		}
	}
	s.t.Errorf("%s takes an id, of what kind can't be told from its name: add it to idKinds in e2e/surface_values_test.go, and where the kind is new, one of it to newTenant", coordinate)
	return ""
}

// arguments returns the arguments that a field must have. on is the type that is looked for where the field gives several.
func (s *surface) arguments(parent string, f *ast.FieldDefinition, on string) string {
	if parent+"."+f.Name == "Query.node" {
		id := s.ids[kindsByName[strings.ToLower(on[:min(1, len(on))])+on[min(1, len(on)):]]]
		if on == "" {
			id = s.ids["agent"]
		} else if id == "" {
			s.t.Errorf("there is no %s to fetch by its id: add one to newTenant, and its name to kindsByName", on)
		}
		return `(id: "` + id + `")`
	}
	return s.argumentsAround(parent, f, "")
}

// argumentsAround is arguments with $id where path leads to.
func (s *surface) argumentsAround(parent string, f *ast.FieldDefinition, path string) string {
	var args []string
	for _, arg := range f.Arguments {
		coordinate := parent + "." + f.Name + "(" + arg.Name + ")"
		if text, ok := s.literal(arg.Type, arg.DefaultValue, coordinate, f.Name, coordinate, path); ok {
			args = append(args, arg.Name+": "+text)
		}
	}
	if len(args) == 0 {
		return ""
	}
	return "(" + strings.Join(args, ", ") + ")"
}

// literal returns a value for a place; false where nothing needs to be given.
func (s *surface) literal(typ *ast.Type, def *ast.Value, coordinate, field, path, hole string) (string, bool) {
	within := hole == path || strings.HasPrefix(hole, path+".")
	text, known := valuesOf[coordinate]
	switch {
	case hole == path:
		text = "$id"
	case known && !within:
		return text, true
	case !within && (!typ.NonNull || def != nil):
		return "", false
	case typ.Elem != nil:
		text, _ = s.literal(typ.Elem, nil, coordinate, field, path, hole)
		return "[" + text + "]", true
	default:
		text = s.value(typ, coordinate, field, path, hole)
	}
	if typ.Elem != nil {
		text = "[" + text + "]"
	}
	return text, true
}

func (s *surface) value(typ *ast.Type, coordinate, field, path, hole string) string {
	def := s.schema.Types[typ.Name()]
	switch def.Kind {
	case ast.Enum:
		return def.EnumValues[0].Name
	case ast.InputObject:
		one := def.Directives.ForName("oneOf") != nil
		var fields []string
		for _, f := range def.Fields {
			at, typ := path+"."+f.Name, f.Type
			if one {
				if hole != at && (strings.HasPrefix(hole, path+".") || len(fields) > 0) {
					continue
				}
				typ = ast.NonNullNamedType(f.Type.Name(), nil)
			}
			if text, ok := s.literal(typ, f.DefaultValue, def.Name+"."+f.Name, field, at, hole); ok {
				fields = append(fields, f.Name+": "+text)
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	if def.Name == "ID" {
		if slices.Contains(namesOnly, coordinate) {
			return `"core"`
		}
		kind := s.kindOf(coordinate, field)
		id := s.ids[kind]
		if id == "" && kind != "" {
			s.t.Errorf("%s takes a %s, and there is none: add one to newTenant", coordinate, kind)
		}
		return `"` + id + `"`
	}
	text, ok := literals[def.Name]
	if !ok {
		s.t.Errorf("%s takes a %s, and nothing tells what to give: add it to valuesOf or literals in e2e/surface_values_test.go", coordinate, def.Name)
	}
	return text
}
