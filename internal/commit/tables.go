package commit

import (
	"fmt"
	"strings"
)

// column is a column that the committer writes, with its type in PostgreSQL.
type column struct {
	name, typ string
	// cond is the condition on the table t that a key stands for, where it isn't equality; %s is the key.
	cond string
}

// operation is what a shape does.
type operation int

const (
	insert operation = iota
	update
	remove
	// duplicate inserts what a query finds.
	duplicate
)

// shape is one kind of write to a table: the columns that rows are found by, and those that are set.
type shape struct {
	op    operation
	table string
	keys  []column
	set   []column
	// where is a condition that all rows have to meet, beside that on their keys.
	where string
	// conflict is what follows an insert: what to do about a row that exists.
	conflict string
	// alone is true for rows that sessions have in common, and that may have to be waited for: they are locked one table after the other.
	alone bool
	// once is true for rows that are found by their primary keys, each of which no other shape of the same table writes that has it, too.
	once bool
	// query finds what is duplicated; %[n]s stands for the key number n.
	query string
}

func columns(list string) []column {
	var cs []column
	for _, f := range strings.Fields(list) {
		name, typ, _ := strings.Cut(f, ":")
		if typ == "" {
			typ = "bigint"
		}
		cs = append(cs, column{name: name, typ: typ})
	}
	return cs
}

const usageColumns = " input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens cost_nanos unpriced:boolean "

const (
	sessionState = "last_sequence input_sequence status:text current_turn_id:uuid queued_turns file_bytes" + usageColumns + "resumed_at compacted_through updated_at"
	turnState    = "coauthors:json model_id:uuid max_tokens queue_position status:text ready_at runner_id:uuid lease_epoch takeovers recoveries " +
		"phase:text iteration tool_calls pending_calls waiting_calls attention:boolean announced:boolean carries end_hooks:boolean cancel:json model_calls input_sequence consumed_through " +
		"output_message_id:uuid final_message_id:uuid answer_preview:text stop_reason:text ended_sequence error:json" + usageColumns +
		"reservation:json harness_revision agent_revision started_at first_token_at finished_at"
)

var (
	orgAndID   = columns("org_id:uuid id:uuid")
	effectKey  = columns("org_id:uuid scope_id:uuid replay_key:text")
	fileKey    = columns("org_id:uuid session_id:uuid path:text")
	keyColumns = columns("org_id:uuid operation:text key:text")
	fileSet    = columns("directory:boolean readonly:boolean size hash:bytea encoding:text updated_at")
	todosSet   = columns("items:json updated_at")

	lineageColumns = columns("org_id session_id through_sequence after_sequence ancestor_id")

	usageSums = columns("input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens cost_nanos unpriced_calls " +
		"model_calls tool_calls turns")
)

// tables are all the writes there are.
var tables = struct {
	insertSession, updateSession, detailSession, dropTags, insertTag, dropWords, insertWord       *shape
	updateTurn, insertTurn                                                                        *shape
	insertMessage, consumeInbox, moveInbox, returnInbox, editMessage, rewriteMessage, insertEvent *shape
	insertEffect, putEffect, updateEffect, amendEffect, dropCheckpoint                            *shape
	insertWait, updateWait, closeWaits, insertDecision, insertJob, dropJob                        *shape
	insertToolset                                                                                 *shape
	insertBlob, putFile, deleteFile, putTodos, dropKey, insertKey                                 *shape
	copyLineage, copyFiles, copyTodos                                                             *shape
	insertJournal, insertPosting, updateBudget, addUsage, addSessionUsage                         *shape
	updatePayment, addPaymentDay                                                                  *shape
	beginChain, insertEntry, moveChain                                                            *shape
}{
	insertSession: &shape{once: true, table: "sessions", keys: orgAndID, set: columns("title:text harness_id:uuid agent_id:uuid model_id:uuid " +
		"tags:json locale:text customer_key:text created_by_kind:text created_by_id:uuid owner_id:uuid " +
		"client_tools:bytea parent_id:uuid root_id:uuid forked_from_id:uuid base_sequence created_at " + sessionState)},
	updateSession: &shape{once: true, op: update, table: "sessions", keys: orgAndID, set: columns(sessionState)},
	detailSession: &shape{op: update, table: "sessions", keys: orgAndID, set: columns("title:text agent_id:uuid model_id:uuid tags:json client_tools:bytea")},
	dropTags:      &shape{op: remove, table: "session_tags", keys: columns("org_id:uuid session_id:uuid")},
	insertTag:     &shape{table: "session_tags", keys: columns("org_id:uuid tag:text session_id:uuid"), conflict: "DO NOTHING"},
	dropWords:     &shape{op: remove, table: "session_words", keys: columns("org_id:uuid session_id:uuid")},
	insertWord:    &shape{table: "session_words", keys: columns("org_id:uuid word:text session_id:uuid")},
	updateTurn:    &shape{once: true, op: update, table: "turns", keys: orgAndID, set: columns(turnState)},
	insertTurn:    &shape{once: true, table: "turns", keys: orgAndID, set: columns("session_id:uuid input_message_id:uuid started_by_kind:text started_by_id:uuid queued_at " + turnState)},
	insertMessage: &shape{table: "messages", keys: orgAndID, set: columns("session_id:uuid turn_id:uuid role:text content:json sequence " +
		"position ordinal error:json author_kind:text author_id:uuid interrupted:boolean created_at")},
	rewriteMessage: &shape{op: update, table: "messages", keys: orgAndID, set: columns("content:json")},
	editMessage:    &shape{op: update, table: "messages", keys: orgAndID, where: "t.position IS NULL", set: columns("content:json")},
	consumeInbox: &shape{
		op: update, table: "messages", where: "t.position IS NULL", set: columns("position"),
		keys: append(columns("org_id:uuid turn_id:uuid"),
			column{"after", "bigint", "t.sequence > %s"}, column{"through", "bigint", "t.sequence <= %s"}),
	},
	moveInbox: &shape{
		op: update, table: "messages", where: "t.position IS NULL", set: columns("turn_id:uuid"),
		keys: append(columns("org_id:uuid"), column{"ended_id", "uuid", "t.turn_id = %s"},
			column{"after", "bigint", "t.sequence > %s"}, column{"through", "bigint", "t.sequence <= %s"}),
	},
	returnInbox: &shape{
		op: update, table: "messages", where: "t.position IS NULL", set: columns("turn_id:uuid"),
		keys: append(columns("org_id:uuid"), column{"left_id", "uuid", "t.turn_id = %s"}, column{"kept_id", "uuid", "t.id <> %s"}),
	},
	insertEvent: &shape{table: "events", keys: columns("org_id:uuid session_id:uuid sequence"), set: columns("id:uuid kind:text " +
		"turn_id:uuid data:text occurred_at feed_position")},
	insertEffect: &shape{once: true, table: "effects", keys: effectKey, set: columns("session_id:uuid kind:text state:text input_hash:bytea " +
		"request:json outcome:json epoch attempt ordinal started_at settled_at due_at")},
	putEffect: &shape{table: "effects", keys: effectKey, set: columns("session_id:uuid kind:text state:text input_hash:bytea " +
		"request:json outcome:json epoch attempt ordinal started_at settled_at due_at"), conflict: "UPDATE"},
	updateEffect:   &shape{once: true, op: update, table: "effects", keys: effectKey, set: columns("state:text outcome:json epoch attempt started_at settled_at due_at")},
	amendEffect:    &shape{op: update, table: "effects", keys: effectKey, set: columns("state:text input_hash:bytea request:json epoch attempt due_at")},
	dropCheckpoint: &shape{op: remove, table: "checkpoints", keys: columns("org_id:uuid turn_id:uuid")},
	insertWait: &shape{once: true, table: "waits", keys: orgAndID, set: columns("session_id:uuid turn_id:uuid kind:text identity:text state:text " +
		"tool_call_id:text tool_name:text request:json deadline resolution:json approvals created_at resolved_at")},
	closeWaits:     &shape{op: update, table: "waits", keys: columns("org_id:uuid turn_id:uuid"), where: "t.state = 'OPEN'", set: columns("state:text resolution:json resolved_at")},
	updateWait:     &shape{once: true, op: update, table: "waits", keys: orgAndID, set: columns("state:text request:json deadline resolution:json approvals resolved_at")},
	insertDecision: &shape{table: "approval_decisions", keys: columns("org_id:uuid wait_id:uuid actor_id:uuid"), set: columns("actor_kind:text approve:boolean arguments:json note:text created_at")},
	insertJob:      &shape{table: "hook_jobs", keys: orgAndID, set: columns("session_id:uuid turn_id:uuid event:text payload:json attempt due_at")},
	dropJob:        &shape{op: remove, table: "hook_jobs", keys: orgAndID},
	insertToolset:  &shape{alone: true, table: "client_toolsets", keys: columns("org_id:uuid hash:bytea"), set: columns("tools:json"), conflict: "DO NOTHING"},
	insertBlob:     &shape{alone: true, table: "blobs", keys: columns("org_id:uuid hash:bytea"), set: columns("size content:bytea"), conflict: "DO NOTHING"},
	putFile:        &shape{once: true, table: "session_files", keys: fileKey, set: fileSet, conflict: "UPDATE"},
	deleteFile:     &shape{once: true, op: remove, table: "session_files", keys: fileKey},
	putTodos:       &shape{table: "session_todos", keys: columns("org_id:uuid session_id:uuid"), set: todosSet, conflict: "UPDATE"},
	dropKey:        &shape{alone: true, op: remove, table: "idempotency_keys", keys: append(columns("expires_at"), keyColumns...)},
	insertKey:      &shape{alone: true, table: "idempotency_keys", keys: keyColumns, set: columns("input_hash:bytea result:json expires_at")},
	insertJournal: &shape{table: "usage_journal", keys: orgAndID, set: columns("kind:text occurred_at session_id:uuid turn_id:uuid user_id:uuid " +
		"agent_id:uuid harness_id:uuid customer_key:text model_id:uuid model:text tool:text" + usageColumns +
		"provider_cost:boolean estimated:boolean duration_ms measures:json")},
	insertPosting: &shape{table: "ledger_entries", keys: orgAndID, set: columns("budget_id:uuid journal_id:uuid source:text amount overrun " +
		"session_id:uuid turn_id:uuid description:text period_started_at created_at")},
	updateBudget: &shape{op: update, table: "budgets", keys: orgAndID, set: columns("period_started_at period_ends_at spent credits reserved " +
		"buckets:json warned_at soft_passed_at exhausted_at contended:boolean kept kept_for:uuid kept_until updated_at")},
	addUsage: &shape{
		table: "usage_hours", keys: columns("org_id:uuid hour model_id:uuid agent_id:uuid user_id:uuid customer_key:text tool:text"),
		set: usageSums, conflict: "ADD",
	},
	addSessionUsage: &shape{
		table: "session_usage_hours", keys: columns("org_id:uuid hour session_id:uuid model_id:uuid agent_id:uuid user_id:uuid customer_key:text tool:text"),
		set: usageSums, conflict: "ADD",
	},
	updatePayment: &shape{op: update, table: "payments", keys: orgAndID, set: columns("paid status:text lines:json reference:text error:text " +
		"attempts due_at settled_at")},
	addPaymentDay: &shape{alone: true, table: "payment_days", keys: columns("org_id:uuid policy_id:uuid day"), set: columns("amount"), conflict: "ADD"},
	beginChain:    &shape{alone: true, table: "audit_heads", keys: columns("org_id:uuid"), set: columns("position hash:bytea"), conflict: "DO NOTHING"},
	moveChain:     &shape{alone: true, op: update, table: "audit_heads", keys: columns("org_id:uuid"), set: columns("position hash:bytea")},
	insertEntry: &shape{alone: true, table: "audit_entries", keys: columns("org_id:uuid position"), set: columns("id:uuid actor_kind:text actor_id:uuid action:text " +
		"target_id:text address:text request_id:text details:text created_at prev_hash:bytea hash:bytea")},
	// The pieces of the original's own history, as far as the fork has them, and what the original has added.
	copyLineage: &shape{
		op: duplicate, table: "session_lineage", keys: columns("org_id:uuid session_id:uuid from_id:uuid through base"), set: lineageColumns,
		query: "SELECT l.org_id, %[2]s, CASE WHEN l.through_sequence < %[4]s THEN l.through_sequence ELSE %[4]s END, l.after_sequence, l.ancestor_id " +
			"FROM session_lineage l WHERE l.org_id = %[1]s AND l.session_id = %[3]s AND l.after_sequence < %[4]s " +
			"UNION ALL SELECT %[1]s, %[2]s, %[4]s, %[5]s, %[3]s WHERE %[4]s > %[5]s",
	},
	copyFiles: &shape{
		op: duplicate, table: "session_files", keys: columns("org_id:uuid session_id:uuid from_id:uuid"), set: append(columns("org_id session_id path"), fileSet...),
		query: "SELECT f.org_id, %[2]s, f.path, " + names("f.", fileSet) + " FROM session_files f WHERE f.org_id = %[1]s AND f.session_id = %[3]s",
	},
	copyTodos: &shape{
		op: duplicate, table: "session_todos", keys: columns("org_id:uuid session_id:uuid from_id:uuid before"), set: append(columns("org_id session_id"), todosSet...),
		query: "SELECT t.org_id, %[2]s, " + names("t.", todosSet) + " FROM session_todos t WHERE t.org_id = %[1]s AND t.session_id = %[3]s AND t.updated_at < %[4]s",
	},
}

// allShapes returns every shape of tables.
func allShapes() []*shape {
	t := &tables
	return []*shape{
		t.insertSession, t.updateSession, t.detailSession, t.dropTags, t.insertTag, t.dropWords, t.insertWord, t.updateTurn, t.insertTurn, t.insertMessage,
		t.consumeInbox, t.moveInbox, t.returnInbox, t.editMessage, t.rewriteMessage, t.insertEvent, t.insertEffect, t.putEffect, t.updateEffect, t.amendEffect, t.dropCheckpoint,
		t.insertWait, t.updateWait, t.closeWaits, t.insertDecision, t.insertJob, t.dropJob, t.insertToolset, t.insertBlob, t.putFile,
		t.deleteFile, t.putTodos, t.dropKey, t.insertKey, t.copyLineage, t.copyFiles, t.copyTodos,
		t.insertJournal, t.insertPosting, t.updateBudget, t.addUsage, t.addSessionUsage, t.updatePayment, t.addPaymentDay,
		t.beginChain, t.insertEntry, t.moveChain,
	}
}

// conflictSQL is what an insert does about a row that exists.
func (s *shape) conflictSQL() string {
	switch s.conflict {
	case "":
		return ""
	case "UPDATE", "ADD":
		var keys, sets []string
		for _, k := range s.keys {
			keys = append(keys, k.name)
		}
		for _, c := range s.set {
			value := "excluded." + c.name
			if s.conflict == "ADD" {
				value = s.table + "." + c.name + " + " + value
			}
			sets = append(sets, c.name+" = "+value)
		}
		return " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
	}
	return " ON CONFLICT " + s.conflict
}

// many reports whether all rows go into one statement. What the database copies does not, and what may be large goes as it is.
func (s *shape) many() bool { return s.op != duplicate && s != tables.insertBlob }

func (s *shape) all() []column { return append(append([]column(nil), s.keys...), s.set...) }

// condition is what a row of the table t must meet; param gives the values to compare with, by the position of the key.
func (s *shape) condition(param func(i int) string) string {
	var list []string
	for i, c := range s.keys {
		cond := c.cond
		if cond == "" {
			cond = "t." + c.name + " = %s"
		}
		list = append(list, fmt.Sprintf(cond, param(i)))
	}
	if s.where != "" {
		list = append(list, s.where)
	}
	return strings.Join(list, " AND ")
}

// assignments set the columns; param gives the values by the position among all columns.
func (s *shape) assignments(param func(i int) string) string {
	var list []string
	for i, c := range s.set {
		list = append(list, c.name+" = "+param(len(s.keys)+i))
	}
	return strings.Join(list, ", ")
}

// list returns the values of all columns.
func (s *shape) list(param func(i int) string) string {
	var list []string
	for i := range len(s.keys) + len(s.set) {
		list = append(list, param(i))
	}
	return strings.Join(list, ", ")
}

// duplicateSQL inserts what the query finds; param gives the keys by their position.
func (s *shape) duplicateSQL(param func(i int) string) string {
	params := make([]any, len(s.keys))
	for i := range params {
		params[i] = param(i)
	}
	return "INSERT INTO " + s.table + " (" + names("", s.set) + ") " + fmt.Sprintf(s.query, params...)
}

// names lists columns, each behind a prefix.
func names(prefix string, cs []column) string {
	var b strings.Builder
	for i, c := range cs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(prefix + c.name)
	}
	return b.String()
}
