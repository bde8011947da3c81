package sessions

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// edit is what a test does to a file: content nil deletes it, or the directory with all that is in it.
type edit struct {
	path    string
	content []byte
}

func put(path, content string) edit { return edit{path, []byte(content)} }

// changes are writes as a tool collects them; those that can't be done are left out.
func (e *env) changes(session models.SessionID, list ...edit) *Changes {
	c := NewChanges()
	o := e.svc.Workspace().Overlay(e.by.OrgID, session, c)
	for _, w := range list {
		if w.content == nil {
			_ = o.Delete(e.t.Context(), w.path, true)
		} else {
			_, _ = o.Write(e.t.Context(), w.path, w.content, nil)
		}
	}
	return c
}

// playTurn does what a runner does for the turn at the head of the line: it begins, writes files and a plan, and ends.
type playTurn struct {
	org     models.OrgID
	session models.SessionID
	changes *Changes
	answer  string
	// begin and end tell which parts to play.
	begin, end bool
}

func (c *playTurn) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Ends: c.end, Files: c.changes.Needs(), Bytes: 1000}
}

func (c *playTurn) Apply(tx *commit.Tx) error {
	t := tx.Turn
	output := models.NewID[models.MessageEntity]()
	if c.begin {
		tx.ClaimTurn(models.NewID[models.RunnerEntity]())
		turns.Begin(tx)
		tx.ConsumeInbox()
		tx.Emit(&t.ID, events.ReasonStarted{Iteration: 1})
		t.OutputMessageID = &output
		tx.Emit(&t.ID, events.OutputStarted{MessageID: output, Model: "m", Iteration: 1})
	}
	if err := c.changes.Apply(tx, &t.ID); err != nil {
		return err
	}
	if !c.end {
		return nil
	}
	turns.AddMessage(tx, models.Message{
		ID: *t.OutputMessageID, TurnID: t.ID, Role: models.MessageAgent, Content: []models.Part{{Type: models.PartText, Text: c.answer}}, CreatedAt: tx.Now,
	}, nil)
	tx.Emit(&t.ID, events.ReasonCompleted{Iteration: 1})
	return tx.EndTurn(models.TurnCompleted, models.StopEndTurn, events.TurnCompleted{StopReason: models.StopEndTurn})
}

// say sends a message, which begins a turn or queues one.
func (e *env) say(session models.SessionID, text string) models.TurnID {
	e.t.Helper()
	_, t, err := e.svc.Send(e.t.Context(), e.by, NewMessage{SessionID: session, Content: []NewPart{Text(text)}, Delivery: turns.Queue})
	if err != nil {
		e.t.Fatal(err)
	}
	return t.ID
}

// play plays a part of the turn at the head of the line.
func (e *env) play(session models.SessionID, begin, end bool, changes *Changes) {
	e.t.Helper()
	c := &playTurn{org: e.by.OrgID, session: session, changes: changes, answer: "ok", begin: begin, end: end}
	if err := e.commit.Submit(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
}

// wholeTurn is a turn, which does some writes.
func (e *env) wholeTurn(session models.SessionID, text string, list ...edit) models.TurnID {
	e.t.Helper()
	id := e.say(session, text)
	e.play(session, true, true, e.changes(session, list...))
	return id
}

// plan replaces the agent's plan within a turn of its own.
func (e *env) plan(session models.SessionID, todo string) models.TurnID {
	e.t.Helper()
	id := e.say(session, "plan")
	c := NewChanges()
	c.SetTodos([]models.Todo{{Content: todo}})
	e.play(session, true, true, c)
	return id
}

func (e *env) writeAs(session models.SessionID, list ...edit) {
	e.t.Helper()
	c := &writeFile{org: e.by.OrgID, session: session, changes: e.changes(session, list...)}
	if err := e.commit.Submit(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) fork(session models.SessionID, through ...models.TurnID) *models.Session {
	e.t.Helper()
	in := NewFork{SessionID: session}
	if len(through) > 0 {
		in.ThroughTurnID = &through[0]
	}
	s, err := e.svc.Fork(e.t.Context(), e.by, in)
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

func (e *env) get(session models.SessionID) *models.Session {
	e.t.Helper()
	s, err := e.svc.Get(e.t.Context(), e.by.OrgID, session)
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

// entries returns the files of a session: the hash by path, "/" for directories. Their sizes must be what the session says.
func (e *env) entries(session models.SessionID) map[string]string {
	e.t.Helper()
	var rows []models.SessionFile
	if err := store.Of(e.db.ReadAcross(e.t.Context()), e.by.OrgID).Where("session_id = ?", session).Find(&rows).Error; err != nil {
		e.t.Fatal(err)
	}
	found := map[string]string{}
	var size int64
	for _, f := range rows {
		size += f.Size
		found[f.Path] = f.Encoding + ":" + hex.EncodeToString(f.Hash)
		if f.Directory {
			found[f.Path] = "/"
		}
	}
	if have := e.get(session).FileBytes; have != size {
		e.t.Fatalf("the files of %s have %d bytes, it says %d", session, size, have)
	}
	return found
}

func wantEntries(t testing.TB, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("the files are\n%v, want\n%v", got, want)
	}
}

// wholeLog reads a log in pages, which must fit together.
func (e *env) wholeLog(ctx context.Context, session models.SessionID, page int) []models.Event {
	e.t.Helper()
	var all []models.Event
	for {
		list, err := events.NewLog(e.db).Read(ctx, e.by.OrgID, session, int64(len(all)), events.Limit{Events: page, Bytes: 1 << 30})
		if err != nil {
			e.t.Fatal(err)
		}
		all = append(all, list...)
		if len(list) < page {
			return all
		}
	}
}

// wantOwn checks that each event of a log is told as one of the session.
func wantOwn(t testing.TB, s *models.Session, log []models.Event) {
	t.Helper()
	for _, e := range log {
		if e.SessionID != s.ID || (e.Sequence <= s.BaseSequence && e.FeedPosition != nil) {
			t.Fatalf("event %d of %s is told as one of %s, with position %v", e.Sequence, s.ID, e.SessionID, e.FeedPosition)
		}
	}
	if int64(len(log)) != s.LastSequence {
		t.Fatalf("the log of %s has %d events, want %d", s.ID, len(log), s.LastSequence)
	}
}

func eventIDs(log []models.Event) []models.EventID {
	ids := make([]models.EventID, len(log))
	for i, e := range log {
		ids[i] = e.ID
	}
	return ids
}

func texts(list []models.Message) []string {
	all := make([]string, len(list))
	for i, m := range list {
		all[i] = string(m.Role[:1]) + m.Content[0].Text
	}
	return all
}

// messages pages through the messages, forward or backward, and returns them oldest first.
func (e *env) messages(s *models.Session, backward bool, page int) []models.Message {
	e.t.Helper()
	var all []models.Message
	var edge *int64
	for {
		after, before := edge, (*int64)(nil)
		if backward {
			after, before = nil, edge
		}
		list, err := e.svc.Messages(e.t.Context(), e.by.OrgID, s.ID, s.BaseSequence, after, before, backward, page)
		if err != nil {
			e.t.Fatal(err)
		}
		all = append(all, list...)
		if len(list) < page {
			break
		}
		edge = &all[len(all)-1].Sequence
	}
	if backward {
		slices.Reverse(all)
	}
	return all
}

// turnIDs pages through the turns and returns them oldest first.
func (e *env) turnIDs(s *models.Session, ascending bool, page int) []models.TurnID {
	e.t.Helper()
	var all []models.TurnID
	var after *models.TurnID
	for {
		list, err := e.svc.Turns(e.t.Context(), e.by.OrgID, s.ID, s.BaseSequence, ascending, after, page)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, t := range list {
			all = append(all, t.ID)
		}
		if len(list) < page {
			break
		}
		after = &all[len(all)-1]
	}
	if !ascending {
		slices.Reverse(all)
	}
	return all
}
