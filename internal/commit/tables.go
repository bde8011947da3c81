package commit

import (
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
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
	op     operation
	table  string
	fields []field
	// all are the columns of the fields: keys and set.
	all, keys, set []column
	// where is a condition that all rows have to meet, beside that on their keys.
	where string
	// conflict is what follows an insert: what to do about a row that exists. With ADD, rows that have a key in common are added up.
	conflict string
	// shared is true for rows that sessions have in common: they are written in the order of their keys, each once.
	shared bool
	// alone is true for shared rows that may have to be waited for: they are locked one table after the other.
	alone bool
	// once is true for rows that are found by their primary keys, if no two such shapes of a table write the same row in one batch.
	once bool
	// last is true if a row is written as the last command of its session left it.
	last bool
	// into is the insert that takes in changes of a row that is new.
	into *shape
	// query finds what is duplicated; %[n]s stands for the key number n.
	query string
}

const usageState = " input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens cost_nanos unpriced "

// What is written of rows that exist.
const (
	sessionState = "last_sequence input_sequence status current_turn_id queued_turns file_bytes" + usageState + "resumed_at compacted_through updated_at"
	turnState    = "coauthors model_id max_tokens queue_position status ready_at runner_id lease_epoch takeovers recoveries " +
		"phase iteration tool_calls pending_calls waiting_calls attention announced carries end_hooks cancel model_calls input_sequence consumed_through " +
		"output_message_id final_message_id answer_preview stop_reason ended_sequence error" + usageState +
		"reservation harness_revision agent_revision started_at first_token_at finished_at"
	effectState = "state outcome epoch attempt started_at settled_at due_at"
	budgetState = "period_started_at period_ends_at spent credits reserved warned_at soft_passed_at exhausted_at contended kept kept_for " +
		"kept_until updated_at"
	fileState = "directory readonly size hash encoding updated_at"
)

// The kinds of writes. inOrder says in which order they are made.
var (
	insertSetup = describe[models.SessionSetup](shape{table: "client_toolsets", shared: true, alone: true, conflict: "DO NOTHING"}, "org_id hash", "")
	insertBlob  = describe[models.Blob](shape{table: "blobs", shared: true, alone: true, conflict: "DO NOTHING"}, "org_id hash", "")

	insertSession = describe[*models.Session](shape{table: "sessions", once: true}, "org_id id", "")
	updateSession = describe[*models.Session](shape{op: update, table: "sessions", once: true}, "org_id id", sessionState)
	detailSession = describe[*models.Session](shape{op: update, table: "sessions"}, "org_id id", "title agent_id model_id tags client_tools")
	dropTags      = describe[label](shape{op: remove, table: "session_tags"}, "org_id session_id", "")
	insertTag     = describe[label](shape{table: "session_tags", conflict: "DO NOTHING"}, "org_id tag session_id", "")
	dropWords     = describe[word](shape{op: remove, table: "session_words"}, "org_id session_id", "")
	insertWord    = describe[word](shape{table: "session_words"}, "org_id word session_id", "")

	// A turn must have ended before the next one of its session may run.
	updateTurn = describe[*models.Turn](shape{op: update, table: "turns", once: true}, "org_id id", turnState)
	insertTurn = describe[*models.Turn](shape{table: "turns", once: true}, "org_id id", "")

	insertMessage  = describe[models.Message](shape{table: "messages"}, "org_id id", "")
	editMessage    = describe[models.Message](shape{op: update, table: "messages", where: "t.position IS NULL", last: true}, "org_id id", "content")
	rewriteMessage = describe[models.Message](shape{op: update, table: "messages"}, "org_id id", "content")
	// What comes back may be consumed in the same batch.
	returnInbox  = describe[returned](shape{op: update, table: "messages", where: "t.position IS NULL"}, "org_id left_id kept_id", "turn_id")
	consumeInbox = describe[consume](shape{op: update, table: "messages", where: "t.position IS NULL"}, "org_id turn_id after through", "position")
	moveInbox    = describe[move](shape{op: update, table: "messages", where: "t.position IS NULL"}, "org_id ended_id after through", "turn_id")

	insertEffect   = describe[models.Effect](shape{table: "effects", once: true}, "org_id scope_id replay_key", "")
	putEffect      = describe[models.Effect](shape{table: "effects", conflict: "UPDATE", last: true}, "org_id scope_id replay_key", "")
	amendEffect    = describe[models.Effect](shape{op: update, table: "effects", last: true, into: insertEffect.shape}, "org_id scope_id replay_key", "state input_hash request epoch attempt due_at")
	updateEffect   = describe[models.Effect](shape{op: update, table: "effects", once: true, last: true, into: insertEffect.shape}, "org_id scope_id replay_key", effectState)
	dropCheckpoint = describe[models.Checkpoint](shape{op: remove, table: "checkpoints"}, "org_id turn_id", "")

	insertWait     = describe[models.Wait](shape{table: "waits", once: true}, "org_id id", "")
	updateWait     = describe[models.Wait](shape{op: update, table: "waits", once: true, last: true, into: insertWait.shape}, "org_id id", "state request deadline resolution approvals resolved_at")
	closeWaits     = describe[models.Wait](shape{op: update, table: "waits", where: "t.state = 'OPEN'"}, "org_id turn_id", "state resolution resolved_at")
	insertDecision = describe[models.ApprovalDecision](shape{table: "approval_decisions"}, "org_id wait_id actor_id", "")
	putFeedback    = describe[models.Feedback](shape{table: "turn_feedback", conflict: "UPDATE", last: true}, "org_id turn_id actor_id", "")
	insertJob      = describe[models.HookJob](shape{table: "hook_jobs"}, "org_id id", "")
	dropJob        = describe[models.HookJob](shape{op: remove, table: "hook_jobs"}, "org_id id", "")

	// What is copied is as it was before this batch: what others of it write comes after. Of the lineage these are the pieces of the
	// original's own history, as far as the fork has them, and what the original has added.
	copyLineage = describe[copied](shape{
		op: duplicate, table: "session_lineage",
		query: "SELECT l.org_id, %[2]s, CASE WHEN l.through_sequence < %[4]s THEN l.through_sequence ELSE %[4]s END, l.after_sequence, l.ancestor_id " +
			"FROM session_lineage l WHERE l.org_id = %[1]s AND l.session_id = %[3]s AND l.after_sequence < %[4]s " +
			"UNION ALL SELECT %[1]s, %[2]s, %[4]s, %[5]s, %[3]s WHERE %[4]s > %[5]s",
	}, "org_id session_id from_id through base", "org_id session_id through_sequence after_sequence ancestor_id")
	copyFiles = describe[copied](shape{
		op: duplicate, table: "session_files",
		query: "SELECT f.org_id, %[2]s, f.path, f.directory, f.readonly, f.size, f.hash, f.encoding, f.updated_at FROM session_files f WHERE f.org_id = %[1]s AND f.session_id = %[3]s",
	}, "org_id session_id from_id", "org_id session_id path "+fileState)
	copyTodos = describe[copied](shape{
		op: duplicate, table: "session_todos",
		query: "SELECT t.org_id, %[2]s, t.items, t.updated_at FROM session_todos t WHERE t.org_id = %[1]s AND t.session_id = %[3]s AND t.updated_at < %[4]s",
	}, "org_id session_id from_id todos_before", "org_id session_id items updated_at")
	putFile    = describe[models.SessionFile](shape{table: "session_files", conflict: "UPDATE", once: true, last: true}, "org_id session_id path", "")
	deleteFile = describe[models.SessionFile](shape{op: remove, table: "session_files", once: true, last: true}, "org_id session_id path", "")
	putTodos   = describe[models.SessionTodos](shape{table: "session_todos", conflict: "UPDATE", last: true}, "org_id session_id", "")

	insertFact      = describe[models.JournalEntry](shape{table: "usage_journal"}, "org_id id", "")
	addUsage        = describe[models.UsageHour](shape{table: "usage_hours", shared: true, conflict: "ADD"}, "org_id hour model_id agent_id user_id customer_key tool", "")
	addSessionUsage = describe[models.SessionUsageHour](shape{table: "session_usage_hours", shared: true, conflict: "ADD"},
		"org_id hour session_id model_id agent_id user_id customer_key tool", "")
	insertPosting = describe[models.LedgerEntry](shape{table: "ledger_entries"}, "org_id id", "")
	updateBudget  = describe[models.Budget](shape{op: update, table: "budgets"}, "org_id id", budgetState)
	putSlot       = describe[models.BudgetSlot](shape{table: "budget_slots", conflict: "UPDATE", once: true}, "org_id budget_id slot", "")
	updatePayment = describe[models.Payment](shape{op: update, table: "payments", last: true}, "org_id id", "paid status lines reference error attempts due_at settled_at")
	// Those who ask for payments lock a policy and then a day, and nothing that a batch waits for.
	addPaymentDay = describe[models.PaymentDay](shape{table: "payment_days", shared: true, alone: true, conflict: "ADD"}, "org_id policy_id day", "")

	// The time is part of the condition: another process may have used the key again meanwhile.
	dropKey   = describe[models.IdempotencyKey](shape{op: remove, table: "idempotency_keys", shared: true, alone: true}, "expires_at org_id operation key", "")
	insertKey = describe[models.IdempotencyKey](shape{table: "idempotency_keys", shared: true, alone: true}, "org_id operation key", "")

	insertEvent = describe[models.Event](shape{table: "events"}, "org_id session_id sequence", "")

	beginChain  = describe[models.AuditHead](shape{table: "audit_heads", alone: true, conflict: "DO NOTHING"}, "org_id", "")
	insertEntry = describe[models.AuditEntry](shape{table: "audit_entries", alone: true}, "org_id position", "")
	moveChain   = describe[models.AuditHead](shape{op: update, table: "audit_heads", alone: true}, "org_id", "position hash")
)

// inOrder are all shapes, in the order in which a transaction writes them. What is referred to goes first. All transactions write the tables in the
// same order, and the rows that sessions have in common in the order of their keys, so that no two can wait for each other.
var inOrder = []*shape{
	insertSetup.shape, insertBlob.shape, insertSession.shape, updateSession.shape, detailSession.shape, dropTags.shape, insertTag.shape,
	dropWords.shape, insertWord.shape, updateTurn.shape, insertTurn.shape, insertMessage.shape, editMessage.shape, rewriteMessage.shape,
	returnInbox.shape, consumeInbox.shape, moveInbox.shape, insertEffect.shape, putEffect.shape, amendEffect.shape, updateEffect.shape,
	dropCheckpoint.shape, insertWait.shape, updateWait.shape, closeWaits.shape, insertDecision.shape, putFeedback.shape, insertJob.shape, dropJob.shape,
	copyLineage.shape, copyFiles.shape, copyTodos.shape, putFile.shape, deleteFile.shape, putTodos.shape, insertFact.shape, addUsage.shape,
	addSessionUsage.shape, insertPosting.shape, updateBudget.shape, putSlot.shape, updatePayment.shape, addPaymentDay.shape, dropKey.shape, insertKey.shape,
	insertEvent.shape, beginChain.shape, insertEntry.shape, moveChain.shape,
}

// Rows that no model has.
type (
	// label is a tag, and word a word, that a session is found by.
	label struct {
		OrgID     models.OrgID
		Tag       string
		SessionID models.SessionID
	}
	word struct {
		OrgID     models.OrgID
		Word      string
		SessionID models.SessionID
	}
	// consume puts the waiting messages of a turn, after a sequence and through another, into the conversation at a position.
	consume struct {
		OrgID    models.OrgID
		TurnID   models.TurnID
		After    int64 `cond:"t.sequence > %s"`
		Through  int64 `cond:"t.sequence <= %s"`
		Position int64
	}
	// move moves the waiting messages of a turn, after a sequence and through another, to another turn.
	move struct {
		OrgID   models.OrgID
		EndedID models.TurnID `cond:"t.turn_id = %s"`
		After   int64         `cond:"t.sequence > %s"`
		Through int64         `cond:"t.sequence <= %s"`
		TurnID  models.TurnID
	}
	// returned moves all waiting messages of a turn but for one to another turn.
	returned struct {
		OrgID  models.OrgID
		LeftID models.TurnID    `cond:"t.turn_id = %s"`
		KeptID models.MessageID `cond:"t.id <> %s"`
		TurnID models.TurnID
	}
	// copied is what the database copies for a new session from the one that it was forked from.
	copied struct {
		OrgID             models.OrgID
		SessionID, FromID models.SessionID
		// Base is how much of that one's log is that of others.
		Through, Base int64
		TodosBefore   models.Millis
	}
)

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
func (s *shape) many() bool { return s.op != duplicate && s != insertBlob.shape }

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
	for i := range s.all {
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
