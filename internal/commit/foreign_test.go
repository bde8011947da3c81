package commit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// belongings are the ids of what an organization has.
type belongings struct {
	harness models.HarnessID
	session models.SessionID
	turn    models.TurnID
	queued  models.TurnID
	shown   models.MessageID
	waiting models.MessageID
	wait    models.WaitID
	job     models.HookJobID
	budget  models.BudgetID
	fact    models.JournalID
	payment models.PaymentID
	hash    []byte
}

// furnish gives the organization of a world a session that has something in every table.
func (w *world) furnish() (belongings, *Lease) {
	w.t.Helper()
	s, l := w.working()
	hash := sha256.Sum256([]byte(w.org.String()))
	m := newMessage()
	later := newMessage()
	later.queue = true
	b := belongings{
		harness: w.harness, session: s, turn: models.TurnID(l.ID), queued: later.turn, waiting: m.id, hash: hash[:],
		wait: models.NewID[models.WaitEntity](), job: models.NewID[models.HookJobEntity](),
		budget: w.budget(w.org), fact: models.NewID[models.JournalEntity](),
	}
	spend := w.command(s, func(tx *Tx) error {
		budget, ok := tx.Budget(b.budget)
		if !ok {
			return ErrMore
		}
		budget.Spent = 7
		tx.SaveBudget(budget)
		tx.Meter(models.JournalEntry{ID: b.fact, Kind: models.JournalToolCall, Tool: "t"}, false)
		tx.Post(models.LedgerEntry{BudgetID: b.budget, JournalID: b.fact, Source: models.JournalToolCall, Amount: 7})
		return nil
	})
	w.do(spend)
	w.exec("INSERT INTO budget_slots (org_id, budget_id, slot, newest, spent) VALUES (?, ?, 1, 1, 1)", w.org, b.budget)
	w.do(w.command(s, func(tx *Tx) error {
		b.shown = tx.Turn.InputMessageID
		tx.ConsumeInbox()
		tx.AddEffect(models.Effect{ScopeID: l.ID, ReplayKey: "call", Kind: models.EffectTool, State: models.EffectClaimed, InputHash: b.hash, Request: models.JSON("{}")})
		tx.AddWait(models.Wait{ID: b.wait, Kind: models.WaitApproval, Identity: "i", Request: models.JSON("{}")})
		tx.AddDecision(models.ApprovalDecision{WaitID: b.wait, ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser})
		if err := tx.Rate(models.Feedback{TurnID: models.TurnID(l.ID), ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser}); err != nil {
			return err
		}
		tx.AddHookJob(models.HookJob{ID: b.job, TurnID: models.TurnID(l.ID).Ptr(), Event: "stop", Payload: models.JSON("{}")})
		tx.AddSetup(models.SessionSetup{Hash: b.hash, Tools: models.ClientTools{}})
		tx.PutFile(models.SessionFile{Path: "/f", Size: 1, Hash: b.hash, Encoding: "utf-8"}, &models.Blob{Hash: b.hash, Size: 1, Content: []byte("a")})
		tx.SaveTodos([]models.Todo{})
		tx.TagSession([]string{"theirs"})
		title := "theirs"
		tx.Session.Title = &title
		tx.SaveDetails()
		tx.Remember(IdempotencyKey{"test", "theirs"}, b.hash, "answer", tx.Now+1000)
		tx.Record(models.AuditEntry{ID: models.NewID[models.AuditEntryEntity](), ActorKind: models.ActorSystem, Action: "furnished", Details: "{}"})
		return nil
	}))
	policy := w.policy(w.org)
	b.payment = w.payment(s, policy).ID
	w.do(w.command(s, func(tx *Tx) error { tx.CountPayment(policy, 1, 5); return nil }))
	w.do(w.send(s, m))
	w.do(w.send(s, later))
	w.exec("INSERT INTO checkpoints (org_id, turn_id, session_id, message_id, epoch, attempt, text, thinking, updated_at) VALUES (?, ?, ?, ?, 1, 1, 'a', '', 1)",
		w.org, models.TurnID(l.ID), s, m.id)
	return b, l
}

// tenantTables are those that the committer writes to.
func tenantTables() []string {
	set := map[string]bool{"org_feeds": true, "checkpoints": true}
	for _, s := range inOrder {
		set[s.table] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// rowsOf returns all rows of an organization in the committer's tables, as text.
func (w *world) rowsOf(org models.OrgID) map[string][]string {
	w.t.Helper()
	all := map[string][]string{}
	for _, table := range tenantTables() {
		var list []map[string]any
		if err := w.db.ReadAcross(w.t.Context()).Table(table).Where("org_id = ?", org).Find(&list).Error; err != nil {
			w.t.Fatal(err)
		}
		for _, row := range list {
			all[table] = append(all[table], fmt.Sprint(row))
		}
		slices.Sort(all[table])
	}
	return all
}

// The committer's connection may touch the rows of every organization: what keeps them apart is that each of its statements names the
// organization of the command. A command that names what belongs to others doesn't find it, and changes nothing of it.
func TestCommandsThatNameWhatBelongsToOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		theirs, _ := w.furnish()
		mine := &world{t: t, db: w.db, clock: w.clock, faults: w.faults, published: w.published, c: w.c}
		mine.org, mine.harness = seedOrg(t, w.db)
		t.Cleanup(func() { mine.feed(mine.org) })
		own, l := mine.furnish()
		before := w.rowsOf(w.org)
		for _, table := range tenantTables() {
			if len(before[table]) == 0 && table != "session_lineage" { // which only forks have
				t.Errorf("there is nothing in %s to find", table)
			}
		}
		effect := models.Effect{
			ScopeID: models.ExecutionID(theirs.turn), ReplayKey: "call", Kind: models.EffectTool, State: models.EffectSettled, InputHash: own.hash,
			Request: models.JSON(`{"planted":1}`), Outcome: models.JSON(`{"planted":1}`),
		}
		text := []models.Part{{Type: models.PartText, Text: "planted"}}
		decision := models.ApprovalDecision{WaitID: theirs.wait, ActorID: models.NewID[models.ActorEntity](), ActorKind: models.ActorUser, Approve: true}
		for _, c := range []struct {
			name  string
			needs func(*Needs)
			apply func(tx *Tx) error
			want  error
		}{
			{"their session", func(n *Needs) { n.Session = theirs.session }, func(tx *Tx) error {
				if tx.Session != nil {
					t.Error("their session is seen")
				}
				return nil
			}, nil},
			{"their lease", func(n *Needs) { n.Lease = &Lease{models.ExecutionOf(theirs.turn), 1} }, func(*Tx) error { return nil }, ErrLeaseLost},
			{"their wait", func(n *Needs) { n.WaitIDs = []models.WaitID{theirs.wait} }, func(tx *Tx) error {
				if _, ok := tx.Wait(theirs.wait); ok || len(tx.Decisions(theirs.wait)) > 0 {
					t.Error("their wait is seen")
				}
				tx.SaveWait(models.Wait{OrgID: mine.org, ID: theirs.wait, State: models.WaitOK, Request: models.JSON("{}")})
				return nil
			}, nil},
			{"their wait, by its row", nil, func(tx *Tx) error {
				tx.SaveWait(models.Wait{OrgID: mine.org, SessionID: theirs.session, TurnID: theirs.turn, ID: theirs.wait, State: models.WaitOK, Request: models.JSON("{}")})
				return nil
			}, nil},
			{"a decision about their wait", nil, func(tx *Tx) error { tx.AddDecision(decision); return nil }, ErrRefused},
			{"their payment", func(n *Needs) { n.Payments = []models.PaymentID{theirs.payment} }, func(tx *Tx) error {
				if _, ok := tx.Payment(theirs.payment); ok {
					t.Error("their payment is seen")
				}
				return nil
			}, nil},
			{"their payment, by its row", nil, func(tx *Tx) error {
				tx.SavePayment(models.Payment{ID: theirs.payment, Status: models.PaymentRefused})
				return nil
			}, nil},
			{"their idempotency key", func(n *Needs) { n.Idempotency = &IdempotencyKey{"test", "only theirs"} }, func(tx *Tx) error {
				if tx.Known != nil {
					t.Error("their answer is seen")
				}
				return nil
			}, nil},
			{"a message in their turn", nil, func(tx *Tx) error {
				tx.AddMessage(models.Message{ID: models.NewID[models.MessageEntity](), TurnID: theirs.turn, Role: models.MessageUser, Content: text, Sequence: 1000})
				return nil
			}, ErrRefused},
			{"their waiting message", nil, func(tx *Tx) error {
				editMessage.put(tx.w, models.Message{OrgID: tx.org, ID: theirs.waiting, Content: text})
				return nil
			}, nil},
			{"their message", nil, func(tx *Tx) error { tx.RewriteMessage(theirs.shown, text); return nil }, nil},
			{"their effect, saved", nil, func(tx *Tx) error { tx.SaveEffect(effect); return nil }, nil},
			{"their effect, amended", nil, func(tx *Tx) error { tx.AmendEffect(effect); return nil }, nil},
			{"their effect, put", nil, func(tx *Tx) error { tx.PutEffect(effect); return nil }, nil},
			{"their hooks", nil, func(tx *Tx) error { tx.EndHookJob(theirs.job); return nil }, nil},
			{"the content of their file", nil, func(tx *Tx) error {
				tx.PutFile(models.SessionFile{Path: "/stolen", Size: 1, Hash: theirs.hash, Encoding: "utf-8"}, nil)
				return nil
			}, ErrRefused},
			{"their blob and toolset, replaced", nil, func(tx *Tx) error {
				tx.AddSetup(models.SessionSetup{Hash: theirs.hash, Tools: models.ClientTools{{Name: "planted"}}})
				tx.PutFile(models.SessionFile{Path: "/g", Size: 7, Hash: theirs.hash, Encoding: "utf-8"}, &models.Blob{Hash: theirs.hash, Size: 7, Content: []byte("planted")})
				return nil
			}, nil},
			{"a file in their session", nil, func(tx *Tx) error {
				tx.RemoveFile(models.SessionFile{OrgID: w.org, SessionID: theirs.session, Path: "/f"})
				return nil
			}, nil},
			{"their queued turn", func(n *Needs) { n.Queue = true }, func(tx *Tx) error {
				if found, err := tx.Unqueue(theirs.queued, events.TurnCancelled{}); found || err != nil {
					t.Errorf("their queued turn was found: %v", err)
				}
				if tx.Reorder(theirs.queued, own.queued) || tx.Reorder(own.queued, theirs.queued) {
					t.Error("their queued turn was moved")
				}
				return nil
			}, nil},
			{"their checkpoint", nil, func(tx *Tx) error {
				turn := tx.Turn.ID
				tx.Turn.ID = theirs.turn
				tx.DropCheckpoint()
				tx.Turn.ID = turn
				return nil
			}, nil},
			{"a session with their harness", func(n *Needs) { n.Session, n.Create = models.NewID[models.SessionEntity](), true }, func(tx *Tx) error {
				tx.CreateSession(models.Session{OrgID: mine.org, ID: models.NewID[models.SessionEntity](), HarnessID: theirs.harness, Tags: []string{}, Status: models.SessionStarted})
				return nil
			}, ErrRefused},
			{"their budget", func(n *Needs) { n.Budgets = true }, func(tx *Tx) error {
				if _, ok := tx.Budget(theirs.budget); ok {
					t.Error("their budget is seen")
				}
				list, ok := tx.Budgets()
				if len(list) != 1 || !ok || list[0].ID != own.budget {
					t.Errorf("the budgets that bind the session are %v", list)
				}
				tx.SaveBudget(models.Budget{OrgID: w.org, ID: theirs.budget, Spent: 1})
				tx.SaveBudget(models.Budget{OrgID: mine.org, ID: theirs.budget, Spent: 1})
				return nil
			}, nil},
			{"a posting on their budget", nil, func(tx *Tx) error {
				tx.Post(models.LedgerEntry{BudgetID: theirs.budget, JournalID: own.fact, Source: models.JournalToolCall, Amount: 1})
				return nil
			}, ErrRefused},
			{"a posting of their fact", nil, func(tx *Tx) error {
				tx.Post(models.LedgerEntry{BudgetID: own.budget, JournalID: theirs.fact, Source: models.JournalToolCall, Amount: 1})
				return nil
			}, ErrRefused},
			{"an entry in their audit chain", nil, func(tx *Tx) error {
				tx.Record(models.AuditEntry{OrgID: w.org, ID: models.NewID[models.AuditEntryEntity](), ActorKind: models.ActorSystem, Action: "planted", Details: "{}"})
				return nil
			}, nil},
		} {
			cmd := mine.command(own.session, c.apply).under(l)
			if c.needs != nil {
				if c.needs(&cmd.needs); cmd.needs.Session != own.session {
					cmd.needs.Lease = nil
				}
			}
			if err := mine.c.Submit(t.Context(), cmd); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
			after := w.rowsOf(w.org)
			for table, rows := range before {
				if !slices.Equal(rows, after[table]) {
					t.Fatalf("%s: in %s were\n%v, now there are\n%v", c.name, table, rows, after[table])
				}
			}
		}
		// The check can fail.
		if err := write(w.db, func(tx *gorm.DB) error {
			return tx.Exec("UPDATE messages SET role = role, ordinal = 7 WHERE org_id = ?", w.org).Error
		}); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(before["messages"], w.rowsOf(w.org)["messages"]) {
			t.Error("a changed row is not seen")
		}
	})
}
