package commit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// The model of a session: what a reader of docs/turn-rules.md would write down, without batches, locks and columns.
type (
	modelSession struct {
		id     models.SessionID
		exists bool
		kinds  []models.EventKind
		// line are the turns that have not ended, in the order in which they run; the first is the current one.
		line     []*modelTurn
		ended    []*modelTurn
		messages []*modelMessage
		files    map[string]int64
		// input is the sequence of the newest message for the current turn.
		input int64
		idle  bool
	}
	modelTurn struct {
		// id is known only after the commit when the turn is made by the end of another one.
		id       func() models.TurnID
		status   models.TurnStatus
		epoch    int64
		ready    bool
		consumed int64
	}
	modelMessage struct {
		id       models.MessageID
		turn     *modelTurn
		sequence int64
		position int64
	}
)

func (s *modelSession) emit(k models.EventKind) int64 {
	s.kinds = append(s.kinds, k)
	return int64(len(s.kinds))
}

func (s *modelSession) send(m *message) {
	msg := &modelMessage{id: m.id, sequence: s.emit(models.EventMessageReceived)}
	s.messages = append(s.messages, msg)
	if len(s.line) > 0 && !m.queue {
		msg.turn, s.input = s.line[0], msg.sequence
		return
	}
	msg.turn = &modelTurn{id: func() models.TurnID { return m.turn }, status: models.TurnQueued}
	s.line = append(s.line, msg.turn)
	if len(s.line) > 1 {
		s.emit(models.EventTurnQueued)
		return
	}
	msg.turn.ready, s.input = true, msg.sequence
	if !m.runner.IsZero() {
		s.claim()
	}
}

func (s *modelSession) claim() {
	t := s.line[0]
	t.ready, t.status = false, models.TurnRunning
	t.epoch++
}

func (s *modelSession) waiting() (list []*modelMessage) {
	for _, m := range s.messages {
		if m.turn == s.line[0] && m.position == 0 {
			list = append(list, m)
		}
	}
	return list
}

func (s *modelSession) step() {
	at := int64(len(s.kinds) + 1)
	for _, m := range s.waiting() {
		m.position = at
	}
	s.line[0].consumed = s.input
	s.emit(models.EventReasonStarted)
}

func (s *modelSession) end(status models.TurnStatus, kind models.EventKind, heir func() models.TurnID) {
	left := s.waiting()
	t := s.line[0]
	t.status, t.ready = status, false
	s.ended, s.line = append(s.ended, t), s.line[1:]
	s.emit(kind)
	switch {
	case len(left) > 0:
		next := &modelTurn{id: heir, status: models.TurnQueued, ready: true}
		for _, m := range left {
			m.turn = next
		}
		s.line = slices.Insert(s.line, 0, next)
	case len(s.line) > 0:
		s.line[0].ready = true
		for _, m := range s.messages {
			if m.turn == s.line[0] {
				s.input = m.sequence
			}
		}
	default:
		s.idle = true
		s.emit(models.EventSessionIdled)
	}
}

// trial makes commands, and tells the model of them.
type trial struct {
	*world

	rt       *rapid.T
	sessions []*modelSession
	cmds     []Command
	want     []error
}

func (tr *trial) add(c Command, want error) {
	tr.cmds, tr.want = append(tr.cmds, c), append(tr.want, want)
}

// heir sets where a command that ends a turn stores the id of the turn that follows.
func heir(c *cmd) func() models.TurnID {
	var id models.TurnID
	end := c.apply
	c.apply = func(tx *Tx) error {
		err := end(tx)
		if tx.Turn != nil {
			id = tx.Turn.ID
		}
		return err
	}
	return func() models.TurnID { return id }
}

func (tr *trial) command() {
	s := rapid.SampledFrom(tr.sessions).Draw(tr.rt, "session")
	if !s.exists {
		if rapid.Bool().Draw(tr.rt, "too early") {
			tr.add(tr.send(s.id, newMessage()), errRefused)
			return
		}
		s.exists = true
		s.emit(models.EventSessionStarted)
		tr.add(tr.create(s.id), nil)
		return
	}
	switch kind := rapid.SampledFrom([]string{"send", "queue", "step", "end", "cancel", "put", "remove", "stale", "refused", "bad"}).
		Draw(tr.rt, "command"); kind {
	case "send", "queue":
		m := newMessage()
		m.queue = kind == "queue"
		if rapid.Bool().Draw(tr.rt, "claim") {
			m.runner = models.NewID[models.RunnerEntity]()
		}
		tr.add(tr.send(s.id, m), nil)
		s.send(m)
	case "step", "end":
		if len(s.line) == 0 || s.line[0].status != models.TurnRunning {
			return
		}
		l := &Lease{models.ExecutionOf(s.line[0].id()), s.line[0].epoch}
		if kind == "step" {
			tr.add(tr.step(s.id, l), nil)
			s.step()
			return
		}
		c := tr.end(s.id, l)
		s.end(models.TurnFailed, models.EventTurnFailed, heir(c))
		tr.add(c, nil)
	case "cancel":
		if len(s.line) == 0 {
			tr.add(tr.cancel(s.id), errRefused)
			return
		}
		c := tr.cancel(s.id)
		s.end(models.TurnSealed, models.EventTurnSealed, heir(c))
		tr.add(c, nil)
	case "put", "remove":
		tr.file(s, kind)
	case "stale":
		if len(s.ended) > 0 {
			t := rapid.SampledFrom(s.ended).Draw(tr.rt, "turn")
			tr.add(tr.step(s.id, &Lease{models.ExecutionOf(t.id()), t.epoch}), ErrLeaseLost)
		}
	case "refused":
		c := tr.send(s.id, newMessage())
		send := c.apply
		c.apply = func(tx *Tx) error { return cmp.Or(send(tx), errRefused) }
		tr.add(c, errRefused)
	case "bad":
		c := tr.badCommand(s)
		tr.add(c, ErrRefused)
	}
}

// badCommand is refused by the database.
func (tr *trial) badCommand(s *modelSession) *cmd {
	return tr.world.command(s.id, func(tx *Tx) error {
		tx.Emit(nil, events.SessionActivated{})
		tx.AddMessage(models.Message{
			ID: models.NewID[models.MessageEntity](), TurnID: models.NewID[models.TurnEntity](), Content: []models.Part{},
			Sequence: tx.Session.LastSequence,
		})
		return nil
	})
}

func (tr *trial) file(s *modelSession, kind string) {
	path := rapid.SampledFrom([]string{"/a", "/a/b", "/a/b/c", "/ab"}).Draw(tr.rt, "path")
	if kind == "put" {
		size := rapid.Int64Range(0, 3).Draw(tr.rt, "size")
		content := bytes.Repeat([]byte{'x'}, int(size))
		tr.add(tr.world.command(s.id, func(tx *Tx) error {
			tx.PutFile(models.SessionFile{Path: path, Size: size, Hash: []byte{byte(size)}}, &models.Blob{Hash: []byte{byte(size)}, Size: size, Content: content})
			return nil
		}).file(FileNeed{Path: path}), nil)
		s.files[path] = size
		return
	}
	below := func(p string) bool { return p == path || len(p) > len(path) && p[:len(path)+1] == path+"/" }
	tr.add(tr.world.command(s.id, func(tx *Tx) error {
		for p, f := range tx.FilesLoaded() {
			if below(p) {
				tx.RemoveFile(f)
			}
		}
		return nil
	}).file(FileNeed{Path: path, Subtree: true}), nil)
	for p := range s.files {
		if below(p) {
			delete(s.files, p)
		}
	}
}

// commit submits what was made, in batches, and compares the database with the model.
func (tr *trial) commit() {
	if len(tr.cmds) == 0 {
		return
	}
	if point := rapid.SampledFrom([]string{"", "", "", "begin", "loaded", "written", "committed"}).Draw(tr.rt, "fault"); point != "" {
		tr.faults.set(once(point))
	}
	for i, err := range batch(tr.c, tr.cmds...) {
		if (tr.want[i] == nil) != (err == nil) || (err != nil && !errors.Is(err, tr.want[i])) {
			tr.rt.Fatalf("command %d: %v, want %v", i, err, tr.want[i])
		}
	}
	tr.faults.set(nil)
	tr.cmds, tr.want = nil, nil
	for _, s := range tr.sessions {
		if s.exists {
			tr.compare(s)
		}
	}
}

// claims lets runners claim, and lose, turns, as the queue does.
func (tr *trial) claims() {
	for _, s := range tr.sessions {
		if len(s.line) == 0 {
			continue
		}
		id := s.line[0].id()
		switch {
		case s.line[0].ready && rapid.Bool().Draw(tr.rt, "claim"):
			runner := models.NewID[models.RunnerEntity]()
			tr.exec("UPDATE turns SET ready_at = NULL, runner_id = ?, lease_epoch = lease_epoch + 1, status = 'RUNNING' WHERE id = ?", runner[:], id[:])
			s.claim()
		case s.line[0].status == models.TurnRunning && rapid.IntRange(0, 4).Draw(tr.rt, "take over") == 0:
			tr.taken(id)
			s.line[0].epoch++
			s.line[0].ready = true
		}
	}
}

func (tr *trial) compare(s *modelSession) {
	check := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			tr.rt.Fatalf("session %s: %s is %s, want %s", s.id, what, g, w)
		}
	}
	check("the log", tr.kinds(s.id), s.kinds)
	row := tr.readSession(s.id)
	var current *models.TurnID
	if len(s.line) > 0 {
		current = s.line[0].id().Ptr()
		check("input_sequence", row.InputSequence, s.input)
	}
	check("current_turn_id", row.CurrentTurnID, current)
	check("queued_turns", row.QueuedTurns, max(0, len(s.line)-1))
	var bytes int64
	for _, size := range s.files {
		bytes += size
	}
	check("file_bytes", row.FileBytes, bytes)
	files := map[string]int64{}
	for _, f := range rows[models.SessionFile](tr.world, s.id, "path") {
		files[f.Path] = f.Size
	}
	check("the files", files, s.files)

	type turn struct {
		status          models.TurnStatus
		epoch, consumed int64
		ready           bool
	}
	turns, want := map[models.TurnID]turn{}, map[models.TurnID]turn{}
	for _, t := range rows[models.Turn](tr.world, s.id, "id") {
		turns[t.ID] = turn{t.Status, t.LeaseEpoch, t.ConsumedThrough, t.ReadyAt != nil}
		if t.ID != deref(current) && (t.RunnerID != nil || t.ReadyAt != nil || t.Status == models.TurnRunning) {
			tr.rt.Fatalf("turn %s is not the current one, and yet %+v", t.ID, t)
		}
	}
	for _, t := range slices.Concat(s.ended, s.line) {
		want[t.id()] = turn{t.status, t.epoch, t.consumed, t.ready}
	}
	check("the turns", turns, want)
	var order []models.TurnID
	for _, t := range rows[models.Turn](tr.world, s.id, "queue_position") {
		if t.Status == models.TurnQueued && t.ReadyAt == nil {
			order = append(order, t.ID)
		}
	}
	var line []models.TurnID
	for i, t := range s.line {
		if i > 0 {
			line = append(line, t.id())
		}
	}
	check("the order of the queue", order, line)
	var messages, wantMessages []string
	for _, m := range rows[models.Message](tr.world, s.id, "sequence") {
		messages = append(messages, fmt.Sprint(m.ID, m.TurnID, m.Sequence, deref(m.Position)))
	}
	for _, m := range s.messages {
		wantMessages = append(wantMessages, fmt.Sprint(m.id, m.turn.id(), m.sequence, m.position))
	}
	check("the messages", messages, wantMessages)
	tr.checkPublished(s.id)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Whatever is sent, claimed, ended and broken, in whatever batches: the database says what the model says.
//
// Rules: L3.
func TestTheCommitterAgreesWithTheModel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		for _, f := range w.c.flushers {
			f.b = onceEach{f.b, t}
		}
		rapid.Check(t, func(rt *rapid.T) {
			tr := &trial{world: w, rt: rt}
			for range rapid.IntRange(1, 4).Draw(rt, "sessions") {
				tr.sessions = append(tr.sessions, &modelSession{id: models.NewID[models.SessionEntity](), files: map[string]int64{}})
			}
			for range rapid.IntRange(1, 6).Draw(rt, "batches") {
				for range rapid.IntRange(0, 12).Draw(rt, "commands") {
					tr.command()
				}
				tr.commit()
				tr.claims()
			}
		})
	})
}

// onceEach fails a test when a batch writes a key twice.
type onceEach struct {
	backend

	t *testing.T
}

func (o onceEach) begin(ctx context.Context, need batchNeed) (batchTx, error) {
	tx, err := o.backend.begin(ctx, need)
	return onceEachTx{tx, o.t}, err
}

type onceEachTx struct {
	batchTx

	t *testing.T
}

func (o onceEachTx) write(ctx context.Context, steps []step, entries []models.AuditEntry, beforeCommit func() error) error {
	shapes := map[*shape]bool{}
	for _, s := range steps {
		if shapes[s.shape] {
			o.t.Errorf("a batch writes %s in two steps", s.shape.table)
		}
		shapes[s.shape] = true
		keys := map[string]bool{}
		for _, r := range s.rows {
			k := fmt.Sprint(r[:len(s.shape.keys)]...)
			if keys[k] {
				o.t.Errorf("a batch writes a key of %s twice", s.shape.table)
			}
			keys[k] = true
		}
	}
	return o.batchTx.write(ctx, steps, entries, beforeCommit)
}
