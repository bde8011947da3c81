package commit

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// columnsOf returns the columns of a model.
func columnsOf(t *testing.T, model any) []string {
	t.Helper()
	s, err := schema.Parse(model, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Clone(s.DBNames)
	slices.Sort(list)
	return list
}

func namesOf(cs ...[]column) []string {
	var list []string
	for _, c := range slices.Concat(cs...) {
		list = append(list, c.name)
	}
	slices.Sort(list)
	return list
}

// A column that is added to a model is written and read here, too, whatever its name and type.
func TestFieldsAreTheColumnsOfTheirModel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model any
		shape *shape
	}{
		{&models.Session{}, insertSession.shape},
		{&models.Turn{}, insertTurn.shape},
		{&models.Message{}, insertMessage.shape},
		{&models.Event{}, insertEvent.shape},
		{&models.Effect{}, insertEffect.shape},
		{&models.Wait{}, insertWait.shape},
		{&models.ApprovalDecision{}, insertDecision.shape},
		{&models.AuditEntry{}, insertEntry.shape},
		{&models.AuditHead{}, beginChain.shape},
		{&models.JournalEntry{}, insertFact.shape},
		{&models.UsageHour{}, addUsage.shape},
		{&models.SessionUsageHour{}, addSessionUsage.shape},
		{&models.LedgerEntry{}, insertPosting.shape},
		{&models.HookJob{}, insertJob.shape},
		{&models.SessionSetup{}, insertSetup.shape},
		{&models.SessionFile{}, putFile.shape},
		{&models.Blob{}, insertBlob.shape},
		{&models.SessionTodos{}, putTodos.shape},
		{&models.IdempotencyKey{}, insertKey.shape},
		{&models.Budget{}, allOfBudget.shape},
		{&models.BudgetSlot{}, putSlot.shape},
		{&models.Payment{}, allOfPayment.shape},
		{&models.PaymentDay{}, addPaymentDay.shape},
		{&models.Lineage{}, &shape{all: copyLineage.set}},
		{&models.SessionFile{}, &shape{all: copyFiles.set}},
		{&models.SessionTodos{}, &shape{all: copyTodos.set}},
	} {
		if got, want := namesOf(tc.shape.all), columnsOf(t, tc.model); !slices.Equal(got, want) {
			t.Errorf("%T: the committer writes\n%v, the model has\n%v", tc.model, got, want)
		}
	}
}

// What an update leaves alone is fixed, named by another update, or, of budgets, changed by people alone.
func TestUpdatesNameEveryColumnThatChanges(t *testing.T) {
	t.Parallel()
	fixed := map[*shape]string{
		insertSession.shape: "harness_id locale customer_key created_by_kind created_by_id owner_id parent_id root_id forked_from_id base_sequence trial created_at",
		insertTurn.shape:    "session_id input_message_id started_by_kind started_by_id queued_at",
		insertEffect.shape:  "session_id kind ordinal",
		insertWait.shape:    "session_id turn_id kind identity tool_call_id tool_name created_at",
		allOfBudget.shape: "subject subject_id customer_key currency limit_amount soft_limit period_kind period_unit period_seconds timezone created_at " +
			"disabled_at",
		allOfPayment.shape: "policy_id session_id turn_id wait_id idempotency_key capability tool host purpose amount day created_at",
	}
	for insert, updates := range map[*shape][]*shape{
		insertSession.shape: {updateSession.shape, detailSession.shape},
		insertTurn.shape:    {updateTurn.shape},
		insertEffect.shape:  {updateEffect.shape, amendEffect.shape},
		insertWait.shape:    {updateWait.shape},
		allOfBudget.shape:   {updateBudget.shape},
		allOfPayment.shape:  {updatePayment.shape},
	} {
		covered := strings.Fields(fixed[insert])
		for _, u := range updates {
			covered = append(covered, namesOf(u.set)...)
		}
		slices.Sort(covered)
		if got, want := slices.Compact(covered), namesOf(insert.set); !slices.Equal(got, want) {
			t.Errorf("%s: covered are\n%v, the table has\n%v", insert.table, got, want)
		}
	}
}

// A table that commands write is declared in one place, and is written in another: then its rows are merged, written and read back. Here a
// table of notes, of which the last of each topic counts, is declared as those of tables.go are.
func TestATableIsDeclaredOnce(t *testing.T) {
	type note struct {
		OrgID     models.OrgID
		SessionID models.SessionID
		Topic     string
		Text      *string
		Marks     []string
		By        *models.UserID
		At        models.Millis
	}
	putNote := describe[note](shape{table: "notes", conflict: "UPDATE", last: true}, "org_id session_id topic", "")
	before := inOrder
	inOrder = append(slices.Clip(inOrder), putNote.shape)
	t.Cleanup(func() { inOrder = before })
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		types := map[store.Dialect]string{
			store.SQLite:   "org_id blob, session_id blob, topic text, text text, marks text, by blob, at integer",
			store.Postgres: "org_id uuid, session_id uuid, topic text, text text, marks json, by uuid, at bigint",
		}
		err := write(db, func(tx *gorm.DB) error {
			return tx.Exec("CREATE TABLE notes (" + types[db.Dialect] + ", PRIMARY KEY (org_id, session_id, topic))").Error
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, db)
		s, other := w.session(), w.session()
		put := func(s models.SessionID, topic, text string) Command {
			return w.command(s, func(tx *Tx) error {
				putNote.put(tx.w, note{tx.org, s, topic, &text, []string{"a", text}, nil, tx.Now})
				return nil
			})
		}
		must(t, batch(w.c, put(s, "one", "first"), put(s, "two", "second"), put(other, "one", "other"), put(s, "one", "third")))
		must(t, batch(w.c, put(s, "two", "fourth")))
		var got []string
		err = db.Query(t.Context(), w.org, func(r store.Row) error {
			var n note
			if err := putNote.scan(r, &n); err != nil {
				return err
			}
			got = append(got, fmt.Sprintf("%t %s %s %s %v %d", n.SessionID == s, n.Topic, *n.Text, n.Marks, n.By, n.At))
			return nil
		}, "SELECT "+names("", putNote.all)+" FROM notes WHERE org_id = ? ORDER BY session_id, topic", w.org[:])
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"true one third [a third] <nil> 1000000", "true two fourth [a fourth] <nil> 1000000", "false one other [a other] <nil> 1000000"}
		if !slices.Equal(got, want) {
			t.Errorf("the notes are %q", got)
		}
	})
}

// Every kind of write counts as something to write.
func TestEveryKindOfWriteCounts(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[writes]().NumField() {
		var w writes
		f := reflect.NewAt(reflect.TypeFor[writes]().Field(i).Type, reflect.ValueOf(&w).Elem().Field(i).Addr().UnsafePointer()).Elem()
		if f.Kind() == reflect.Bool {
			f.SetBool(true)
		} else {
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
		if !w.any() {
			t.Errorf("%s doesn't count", reflect.TypeFor[writes]().Field(i).Name)
		}
	}
	if (&writes{}).any() {
		t.Error("nothing counts as something")
	}
}

// Every column that updateSession writes counts as a change, but for the time.
func TestEveryChangeOfASessionCounts(t *testing.T) {
	t.Parallel()
	written := namesOf(updateSession.set)
	s, err := schema.Parse(&models.Session{}, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Fields {
		if !slices.Contains(written, f.DBName) || f.DBName == "updated_at" {
			continue
		}
		var a, b models.Session
		fill(f.ReflectValueOf(context.Background(), reflect.ValueOf(&b).Elem()), 1)
		if sameSession(&a, &b) {
			t.Errorf("a change of %s goes unnoticed", f.DBName)
		}
	}
}

// fill sets every field of a value that is stored to something of its own.
func fill(v reflect.Value, n int) int {
	if _, ok := v.Interface().(models.JSON); ok {
		v.Set(reflect.ValueOf(models.JSON(fmt.Sprintf(`{"n":%d}`, n))))
		return n + 1
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("gorm") != "-" {
				n = fill(v.Field(i), n)
			}
		}
		return n
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Array: // ids
		v.Index(0).SetUint(uint64(n))
		v.Index(15).SetUint(uint64(n))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{byte(n)})
			break
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), n)
	}
	return n + 1
}

// Every value goes into its own column, and comes back from it: by one row, by a few and by many, inserted and updated.
func TestRowsComeBackAsTheyWereWritten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, n := range []int{1, 3, 6} {
			var list []*full
			var cmds []Command
			for range n {
				f := w.full()
				list = append(list, f)
				cmds = append(cmds, f.insert())
			}
			must(t, batch(w.c, cmds...))
			for _, f := range list {
				f.check(w, "inserted")
			}
			cmds = nil
			for i, f := range list {
				cmds = append(cmds, f.change(100*(i+1)))
			}
			must(t, batch(w.c, cmds...))
			for _, f := range list {
				f.check(w, "updated")
			}
		}
	})
}

// full is a session with one row of each table, every column of which has a value.
type full struct {
	w       *world
	session models.Session
	turn    models.Turn
	message models.Message
	effect  models.Effect
	wait    models.Wait
	voice   models.ApprovalDecision
	job     models.HookJob
	file    models.SessionFile
	blob    models.Blob
	todos   models.SessionTodos
}

func (w *world) full() *full {
	f := &full{w: w}
	for _, row := range []any{&f.session, &f.turn, &f.message, &f.effect, &f.wait, &f.voice, &f.job, &f.file, &f.blob, &f.todos} {
		fill(reflect.ValueOf(row).Elem(), 1)
	}
	s, turn := models.NewID[models.SessionEntity](), models.NewID[models.TurnEntity]()
	f.session.OrgID, f.session.ID, f.session.CurrentTurnID = w.org, s, &turn
	// Nothing that is referred to.
	f.session.HarnessID, f.session.AgentID, f.session.ModelID, f.session.CreatedByID, f.session.OwnerID = w.harness, nil, nil, nil, nil
	f.session.LastSequence, f.session.Budgeted = 0, false
	f.turn.OrgID, f.turn.ID, f.turn.SessionID, f.turn.ModelID, f.turn.QueuePosition = w.org, turn, s, nil, 1
	f.message.OrgID, f.message.ID, f.message.SessionID, f.message.TurnID = w.org, models.NewID[models.MessageEntity](), s, turn
	f.effect.OrgID, f.effect.ScopeID, f.effect.SessionID = w.org, models.ExecutionID(turn), s
	f.wait.OrgID, f.wait.ID, f.wait.SessionID, f.wait.TurnID = w.org, models.NewID[models.WaitEntity](), s, turn
	f.voice.OrgID, f.voice.WaitID = w.org, f.wait.ID
	f.job.OrgID, f.job.ID, f.job.SessionID, f.job.TurnID = w.org, models.NewID[models.HookJobEntity](), s, &turn
	f.blob.OrgID, f.blob.Hash = w.org, s[:]
	f.file.OrgID, f.file.SessionID, f.file.Hash = w.org, s, s[:]
	f.session.FileBytes = 0
	f.todos.OrgID, f.todos.SessionID = w.org, s
	return f
}

func (f *full) insert() Command {
	c := f.w.command(f.session.ID, func(tx *Tx) error {
		tx.CreateSession(f.session)
		tx.TagSession(f.session.Tags)
		turn := f.turn
		tx.w.turns, tx.w.newTurns = append(tx.w.turns, &turn), append(tx.w.newTurns, turn.ID)
		tx.Turn = &turn
		tx.AddMessage(f.message)
		tx.AddEffect(f.effect)
		tx.AddWait(f.wait)
		f.wait.State, f.wait.CreatedAt = models.WaitOpen, tx.Now
		tx.AddDecision(f.voice)
		f.voice.CreatedAt = tx.Now
		tx.AddHookJob(f.job)
		f.store(tx)
		return nil
	})
	c.needs.Create = true
	return c
}

func (f *full) store(tx *Tx) {
	blob := f.blob
	tx.PutFile(f.file, &blob)
	tx.SaveTodos(f.todos.Items)
	f.session.FileBytes = tx.Session.FileBytes
	f.file.UpdatedAt, f.todos.UpdatedAt, f.session.UpdatedAt = tx.Now, tx.Now, tx.Now
}

// change gives every column that may change another value.
func (f *full) change(n int) Command {
	return f.w.command(f.session.ID, func(tx *Tx) error {
		s, turn, effect, wait := f.session, f.turn, f.effect, f.wait
		fill(reflect.ValueOf(&f.wait).Elem(), n)
		f.wait.OrgID, f.wait.ID, f.wait.SessionID, f.wait.TurnID, f.wait.Kind = wait.OrgID, wait.ID, wait.SessionID, wait.TurnID, wait.Kind
		f.wait.Identity, f.wait.ToolCallID, f.wait.ToolName, f.wait.CreatedAt = wait.Identity, wait.ToolCallID, wait.ToolName, wait.CreatedAt
		tx.SaveWait(f.wait)
		fill(reflect.ValueOf(&f.session).Elem(), n)
		fill(reflect.ValueOf(&f.turn).Elem(), n)
		fill(reflect.ValueOf(&f.effect).Elem(), n)
		f.session.OrgID, f.session.ID, f.session.HarnessID, f.session.AgentID, f.session.ModelID = s.OrgID, s.ID, s.HarnessID, nil, nil
		f.session.Locale, f.session.CustomerKey, f.session.CreatedByKind = s.Locale, s.CustomerKey, s.CreatedByKind
		f.session.CreatedByID, f.session.OwnerID, f.session.CreatedAt = nil, nil, s.CreatedAt
		f.session.ParentID, f.session.RootID, f.session.ForkedFromID, f.session.BaseSequence = s.ParentID, s.RootID, s.ForkedFromID, s.BaseSequence
		f.session.CurrentTurnID, f.session.FileBytes, f.session.Budgeted = s.CurrentTurnID, tx.Session.FileBytes, false
		f.turn.OrgID, f.turn.ID, f.turn.SessionID, f.turn.InputMessageID = turn.OrgID, turn.ID, turn.SessionID, turn.InputMessageID
		f.turn.ModelID, f.turn.QueuedAt, f.turn.StartedByKind, f.turn.StartedByID = nil, turn.QueuedAt, turn.StartedByKind, turn.StartedByID
		f.effect.OrgID, f.effect.ScopeID, f.effect.ReplayKey, f.effect.SessionID = effect.OrgID, effect.ScopeID, effect.ReplayKey, effect.SessionID
		f.effect.Kind, f.effect.Ordinal = effect.Kind, effect.Ordinal
		*tx.Session, *tx.Turn = f.session, f.turn
		tx.SaveDetails()
		tx.ReplaceTags(f.session.Tags)
		tx.AmendEffect(f.effect)
		tx.SaveEffect(f.effect)
		f.file.Readonly, f.file.Size = false, int64(n)
		f.todos.Items = []models.Todo{{Content: fmt.Sprint(n)}}
		f.store(tx)
		return nil
	}).file(FileNeed{Path: f.file.Path})
}

func (f *full) check(w *world, when string) {
	w.t.Helper()
	compare := func(got, want any) {
		w.t.Helper()
		if !reflect.DeepEqual(got, want) {
			w.t.Errorf("%s: got\n%s, want\n%s", when, dump(got), dump(want))
		}
	}
	id := f.session.ID
	compare(w.readSession(id), f.session)
	compare(w.readTurn(f.turn.ID), f.turn)
	compare(rows[models.Message](w, id, "id"), []models.Message{f.message})
	compare(rows[models.Effect](w, id, "replay_key"), []models.Effect{f.effect})
	compare(rows[models.Wait](w, id, "id"), []models.Wait{f.wait})
	compare(rows[models.HookJob](w, id, "id"), []models.HookJob{f.job})
	var voice models.ApprovalDecision
	if err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("wait_id = ?", f.wait.ID).First(&voice).Error; err != nil {
		w.t.Error(err)
	}
	compare(voice, f.voice)
	compare(rows[models.SessionFile](w, id, "path"), []models.SessionFile{f.file})
	compare(rows[models.SessionTodos](w, id, "session_id"), []models.SessionTodos{f.todos})
	var blob models.Blob
	if err := store.Of(w.db.ReadAcross(context.Background()), w.org).Where("hash = ?", f.blob.Hash).First(&blob).Error; err != nil {
		w.t.Error(err)
	}
	compare(blob, f.blob)
	// What the next command sees is the same.
	w.do(w.command(id, func(tx *Tx) error {
		compare(*tx.Session, f.session)
		compare(*tx.Turn, f.turn)
		compare(tx.FilesLoaded(), map[string]models.SessionFile{f.file.Path: f.file})
		return nil
	}).file(FileNeed{Path: f.file.Path}))
}

func dump(v any) string { return strings.ReplaceAll(fmt.Sprintf("%+v", v), " ", "\n") }
