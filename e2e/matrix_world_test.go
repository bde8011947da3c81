package e2e

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// furnish adds to an organization more of what the schema knows: everything that a field leads to. All texts have the mark in them.
func (tt *tenant) furnish(t *testing.T, mark string) {
	t.Helper()
	var made map[string]map[string]any
	id := func(payload, what string) string { return made[payload][what].(map[string]any)["id"].(string) }
	do := func(query string, variables map[string]any) {
		t.Helper()
		made = nil
		tt.do(t, query, variables, &made)
	}
	do(`mutation($in: CreateHarnessInput!) { createHarness(input: $in) { harness { id } userErrors { code message path } } }`, map[string]any{"in": map[string]any{
		"name": "furnished", "displayName": mark + " harness", "systemPrompt": mark + " prompt", "description": mark, "parentId": tt.ids["harn"],
		"defaultModelId": tt.ids["model"], "fallbackModelIds": []any{tt.ids["model"]}, "capabilities": []any{map[string]any{"id": "core"}},
	}})
	tt.ids["harn"] = id("createHarness", "harness")
	script := tt.model(t, "sim-script")
	approve := map[string]any{"rules": []any{map[string]any{"tools": []any{"echo"}, "approve": "always", "allowSelf": true}}}
	do(`mutation($in: CreateAgentInput!) { createAgent(input: $in) { agent { id } userErrors { code message path } } }`, map[string]any{"in": map[string]any{
		"name": "furnished", "displayName": mark + " agent", "systemPrompt": mark + " prompt", "description": mark, "harnessId": tt.ids["harn"],
		"defaultModelId": script, "fallbackModelIds": []any{tt.ids["model"]}, "tags": []any{mark},
		"capabilities": []any{map[string]any{"id": "core"}, map[string]any{"id": "files"}, map[string]any{"id": "approvals", "config": approve}},
		"clientTools":  []any{map[string]any{"name": "measure", "description": mark, "inputSchema": map[string]any{"type": "object"}}},
	}})
	tt.ids["agent"] = id("createAgent", "agent")
	do(`mutation($id: ID!, $in: UpdateAgentInput!) { updateAgent(id: $id, input: $in) { agent { id } userErrors { code message path } } }`,
		map[string]any{"id": tt.ids["agent"], "in": map[string]any{"description": mark + " again", "reason": mark}})
	do(`mutation($id: ID!, $in: UpdateHarnessInput!) { updateHarness(id: $id, input: $in) { harness { id } userErrors { code message path } } }`,
		map[string]any{"id": tt.ids["harn"], "in": map[string]any{"description": mark + " again", "reason": mark}})
	do(`mutation($in: UpdateOrgInput!) { updateOrg(input: $in) { org { id } userErrors { code message path } } }`,
		map[string]any{"in": map[string]any{"defaultHarnessId": tt.ids["harn"], "defaultModelId": tt.ids["model"]}})
	do(`mutation($in: CreateProviderInput!) { createProvider(input: $in) { provider { id } userErrors { code message path } } }`, map[string]any{"in": map[string]any{
		"name": mark + " provider", "kind": "OPENAI_COMPATIBLE", "baseUrl": "https://" + mark + ".example.com/v1", "apiKey": mark + "-key",
	}})
	tt.ids["prov"] = id("createProvider", "provider")
	do(`mutation($in: CreateModelInput!) { createModel(input: $in) { model { id } userErrors { code message path } } }`, map[string]any{"in": map[string]any{
		"providerId": tt.ids["prov"], "name": mark, "displayName": mark + " model", "price": map[string]any{"input": "1", "output": "1"},
	}})
	tt.ids["model"] = id("createModel", "model")
	tt.ids["inv"] = tt.invitation(t, mark+"-invited@example.com")

	tt.budget(t, map[string]any{
		"subject": "CUSTOMER", "subjectId": mark, "currency": "tokens", "limit": "1000000000000", "softLimit": "900000000000",
		"period": map[string]any{"kind": "CALENDAR", "unit": "DAY"},
	}, mark)

	// A session with a turn that has done everything.
	do(`mutation($in: CreateSessionInput!) { createSession(input: $in) { session { id } userErrors { code message path } } }`, map[string]any{"in": map[string]any{
		"agentId": tt.ids["agent"], "modelId": script, "title": mark + " title", "tags": []any{mark}, "customerKey": mark, "locale": "de",
		"clientTools": []any{map[string]any{"name": "measure", "description": mark, "inputSchema": map[string]any{"type": "object"}}},
	}})
	session := id("createSession", "session")
	do(`mutation($id: ID!, $text: String!) { writeSessionFile(sessionId: $id, path: "/workspace/notes.txt", content: $text) { file { path } userErrors { code message path } } }`,
		map[string]any{"id": session, "text": mark + " file"})
	tt.overspend(t, session, mark)
	s := tt.subscribe(t, session, 0)
	idled := count(s.until(t, "what was", func(all []event) bool { return count(all, "CAUGHT_UP") > 0 }), "SESSION_IDLED")
	do(`mutation($in: SendMessageInput!) { sendMessage(input: $in) { turn { id } userErrors { code message path } } }`, map[string]any{"in": map[string]any{
		"sessionId": session, "content": []any{map[string]any{"imageId": tt.ids["img"]}, map[string]any{"text": `{"responses": [
			{"chunks": [{"thinking": "` + mark + ` thoughts"}, {"text": "` + mark + ` answer"}, {"tool_call": {"name": "echo", "arguments": {"text": "` + mark + `"}}}, {"tool_call": {"name": "write_todos",
				"arguments": {"todos": [{"content": "` + mark + `", "status": "pending"}]}}}]}, {"chunks": [{"text": "` + mark + ` end"}]}]}`}},
	}})
	tt.ids["turn"] = id("sendMessage", "turn")
	s.untilKind(t, "SESSION_WAITING", 1)
	open := tt.waits(t, session)
	tt.ids["wait"] = open[0].ID
	do(`mutation($id: ID!, $note: String!) { decideApproval(input: {waitId: $id, approve: true, note: $note}) { wait { id } userErrors { code message path } } }`,
		map[string]any{"id": tt.ids["wait"], "note": mark})
	s.untilKind(t, "SESSION_IDLED", idled+1)
	tt.do(t, `mutation($turn: ID!, $comment: String) { rateTurn(input: {turnId: $turn, rating: DOWN, comment: $comment}) { userErrors { code message path } } }`,
		map[string]any{"turn": tt.ids["turn"], "comment": mark + " was no help"}, nil)
	s.untilKind(t, "TURN_RATED", 1)
	tt.steer(t, session, mark)
	do(`mutation($id: ID!, $title: String) { forkSession(input: {sessionId: $id, title: $title}) { session { id } userErrors { code message path } } }`,
		map[string]any{"id": session, "title": mark + " fork"})
	tt.ids["sess"], tt.ids["fork"] = session, id("forkSession", "session")
	var last struct {
		Turn struct{ InputMessage struct{ ID string } }
	}
	tt.do(t, `query($id: ID!) { turn(id: $id) { inputMessage { id } } }`, map[string]any{"id": tt.ids["turn"]}, &last)
	tt.ids["msg"] = last.Turn.InputMessage.ID
	tt.indexed(t, session)
}

// indexed waits until a session is in the index, which follows the turns.
func (tt *tenant) indexed(t *testing.T, session string) {
	t.Helper()
	eventually(t, "the index of the session", func() error {
		var out struct {
			Session struct {
				Match   *struct{ Message struct{ ID string } }
				Summary *struct{ Model *struct{ ID string } }
			}
		}
		tt.do(t, `query($id: ID!) { session(id: $id) { match(search: "spends") { message { id } } summary { model { id } } } }`, map[string]any{"id": session}, &out)
		if s := out.Session; s.Match == nil || s.Summary == nil || s.Summary.Model == nil {
			return fmt.Errorf("there is only %+v", s)
		}
		return nil
	})
}

// overspend lets a session run into the limits of a budget of its own, one after the other.
func (tt *tenant) overspend(t *testing.T, session, mark string) {
	t.Helper()
	var made struct {
		CreateBudget struct{ Budget struct{ ID string } }
	}
	tt.do(t, `mutation($id: String!) { createBudget(input: {subject: SESSION, subjectId: $id, currency: "tokens", limit: "1000000", softLimit: "1"}) { budget { id } userErrors { code message path } } }`,
		map[string]any{"id": session}, &made)
	s := tt.subscribe(t, session, 0)
	spend := func(tokens string) {
		tt.message(t, session, `{"responses": [{"usage": {"input": `+tokens+`}, "chunks": [{"text": "`+mark+` spends"}]}]}`)
	}
	spend("10")
	s.untilKind(t, "SESSION_IDLED", 1)
	spend("2000000")
	s.untilKind(t, "SESSION_PAUSED", 1)
	tt.do(t, `mutation($id: ID!) { resumeSession(sessionId: $id) { session { id } userErrors { code message path } } }`, map[string]any{"id": session}, nil)
	s.untilKind(t, "SESSION_IDLED", 2)
	spend("1")
	s.untilKind(t, "BUDGET_EXHAUSTED", 1)
	s.untilKind(t, "SESSION_IDLED", 3)
	tt.do(t, `mutation($id: ID!) { disableBudget(id: $id) { budget { id } userErrors { code message path } } }`, map[string]any{"id": made.CreateBudget.Budget.ID}, nil)
}

// steer does to a session what people do while it works: its title and model change, messages wait in line, are edited, moved and taken
// back, and a tool of the client's is called.
func (tt *tenant) steer(t *testing.T, session, mark string) {
	t.Helper()
	tt.do(t, `mutation($id: ID!, $model: ID!, $title: String) { updateSession(id: $id, input: {title: $title, modelId: $model}) { session { id } userErrors { code message path } } }`,
		map[string]any{"id": session, "title": mark + " other title", "model": tt.model(t, "sim-echo")}, nil)
	tt.do(t, `mutation($id: ID!, $model: ID!) { updateSession(id: $id, input: {modelId: $model}) { session { id } userErrors { code message path } } }`,
		map[string]any{"id": session, "model": tt.model(t, "sim-script")}, nil)
	s := tt.subscribe(t, session, 0)
	idled := count(s.until(t, "what was", func(all []event) bool { return count(all, "CAUGHT_UP") > 0 }), "SESSION_IDLED")
	turn := tt.message(t, session, script(`{"name": "measure", "arguments": {"what": "`+mark+`"}}`))
	s.untilKind(t, "TOOL_CALLS_REQUESTED", 1)
	var queued []string
	for _, text := range []string{mark + " second", mark + " third"} {
		var out struct {
			SendMessage struct{ Turn struct{ ID string } }
		}
		tt.do(t, `mutation($id: ID!, $text: String!) { sendMessage(input: {sessionId: $id, content: [{text: $text}], delivery: QUEUE}) { turn { id } userErrors { code message path } } }`,
			map[string]any{"id": session, "text": text}, &out)
		queued = append(queued, out.SendMessage.Turn.ID)
	}
	for _, query := range []string{
		`editQueuedTurn(turnId: $first, content: [{text: "` + mark + ` edited"}]) { userErrors { code message path } }`,
		`moveQueuedTurn(turnId: $second, before: $first) { userErrors { code message path } }`,
		`cancelTurn(turnId: $first, reason: "` + mark + `") { userErrors { code message path } }`,
	} {
		declares := `($first: ID!)`
		if strings.Contains(query, "$second") {
			declares = `($first: ID!, $second: ID!)`
		}
		tt.do(t, `mutation`+declares+` { `+query+` }`, map[string]any{"first": queued[0], "second": queued[1]}, nil)
	}
	tt.do(t, submitResults, map[string]any{"turn": turn, "results": []any{map[string]any{"toolCallId": tt.waits(t, session)[0].ToolCallID, "result": mark}}}, nil)
	s.untilKind(t, "SESSION_IDLED", idled+1)
}

// values returns what an answer has at the end of a way, without nulls.
func (m *matrix) values(r *reply, steps []step) []any {
	var at any
	if len(r.Data) > 0 && json.Unmarshal(r.Data, &at) != nil {
		m.Errorf("the data is %s", r.Data)
	}
	all := []any{at}
	for _, s := range steps {
		var next []any
		for _, v := range all {
			if object, ok := v.(map[string]any); ok {
				next = append(next, flat(object[s.field.Name])...)
			}
		}
		if s.on != s.field.Type.Name() {
			next = slices.DeleteFunc(next, func(v any) bool { return v.(map[string]any)["__typename"] != s.on })
		}
		all = next
	}
	return all
}

func flat(v any) (all []any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, e := range v {
			all = append(all, flat(e)...)
		}
	default:
		all = append(all, v)
	}
	return all
}

func hasCode(r *reply, codes ...string) bool {
	return slices.ContainsFunc(r.Errors, func(e gqlError) bool { return slices.Contains(codes, e.Code()) })
}

// moved are columns that change when somebody only asks, and counting are tables that count who asks and who is connected.
var (
	moved    = []string{"last_used_at"}
	counting = []string{"org_rates", "org_leases"}
)

// rowsOf returns all rows of an organization, those of its tenants' tables and of the people named, by table: what a wall between
// organizations must keep as it is.
func (p *place) rowsOf(t *testing.T, org string, people ...string) map[string][]string {
	t.Helper()
	ids := []any{}
	for _, id := range append([]string{org}, people...) {
		_, digits, _ := strings.Cut(id, "_")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, b)
	}
	all := map[string][]string{}
	read := p.reader(t)
	for table, columns := range read.tables(t) {
		key := map[bool]string{true: "org_id"}[slices.Contains(columns, "org_id")]
		keys := ids[:1]
		switch {
		case table == "orgs":
			key = "id"
		case table == "users":
			key, keys = "id", ids[1:]
		case key == "" && slices.Contains(columns, "user_id"):
			key, keys = "user_id", ids[1:]
		}
		if key == "" || slices.Contains(counting, table) {
			continue // it belongs to the server
		}
		columns = slices.DeleteFunc(columns, func(c string) bool { return slices.Contains(moved, c) })
		for _, id := range keys {
			all[table] = append(all[table], read.rows(t, table, columns, key, id)...)
		}
		slices.Sort(all[table])
	}
	if len(all["sessions"]) == 0 || len(all["orgs"]) != 1 {
		t.Fatalf("the rows of %s are not among %v", org, slices.Collect(maps.Keys(all)))
	}
	return all
}

// reader reads the database from outside, as who sees everything.
type reader struct {
	lite *sql.DB
	pg   *pgx.Conn
}

func (p *place) reader(t *testing.T) *reader {
	t.Helper()
	if p.kind == "postgres" {
		conn, err := pgx.Connect(t.Context(), p.env["OSTLER_DATABASE_URL"])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return &reader{pg: conn}
	}
	db := p.database(t)
	t.Cleanup(func() { _ = db.Close() })
	return &reader{lite: db.Reader}
}

// query returns rows as lists of values.
func (r *reader) query(t *testing.T, statement string, args ...any) (all [][]any) {
	t.Helper()
	if r.pg != nil {
		for i := range args {
			statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", i+1), 1)
		}
		rows, err := r.pg.Query(t.Context(), statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	rows, err := r.lite.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	for err == nil && rows.Next() {
		values, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			at[i] = &values[i]
		}
		if err = rows.Scan(at...); err == nil {
			all = append(all, values)
		}
	}
	if err == nil {
		err = rows.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return all
}

// tables returns the columns of each table.
func (r *reader) tables(t *testing.T) map[string][]string {
	t.Helper()
	statement := `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`
	if r.pg != nil {
		statement = `SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()`
	}
	all := map[string][]string{}
	for _, row := range r.query(t, statement) {
		all[row[0].(string)] = append(all[row[0].(string)], row[1].(string))
	}
	return all
}

func (r *reader) rows(t *testing.T, table string, columns []string, key string, id any) (list []string) {
	t.Helper()
	for _, row := range r.query(t, "SELECT "+strings.Join(quote(columns), ", ")+" FROM "+pgx.Identifier{table}.Sanitize()+" WHERE "+key+" = ?", id) {
		text := ""
		for i, v := range row {
			text += fmt.Sprintf("%s=%v ", columns[i], v)
		}
		list = append(list, text)
	}
	return list
}

func quote(columns []string) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = pgx.Identifier{c}.Sanitize()
	}
	return list
}

// unchanged compares the rows of an organization with those of before.
func (m *matrix) unchanged(what string, before, after map[string][]string) {
	m.Helper()
	rows := 0
	for table := range before {
		rows += len(before[table])
		if slices.Equal(before[table], after[table]) {
			continue
		}
		for _, row := range before[table] {
			if !slices.Contains(after[table], row) {
				m.Errorf("%s: %s lost %.600s", what, table, row)
			}
		}
		for _, row := range after[table] {
			if !slices.Contains(before[table], row) {
				m.Errorf("%s: %s has new %.600s", what, table, row)
			}
		}
	}
	m.Logf("%s: %d rows in %d tables are as they were", what, rows, len(before))
}
