package sessions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sampletest"
)

// copied is a session as a naive fork would have it: with copies of everything.
type copied struct {
	id       models.SessionID
	log      []models.EventID
	messages []string
	turns    []models.TurnID
	files    map[string]string
	// ends are the ends of its turns, with what it was by then.
	ends []copied
	// open is the turn at work; waiting are the turns behind it, with their texts.
	open    *models.TurnID
	text    string
	waiting []models.TurnID
	texts   []string
}

// at is a copy of how the session is now.
func (c *copied) at() copied {
	return copied{
		log: slices.Clone(c.log), messages: slices.Clone(c.messages), turns: slices.Clone(c.turns), files: maps.Clone(c.files), ends: slices.Clone(c.ends),
	}
}

// Whatever is done to a tree of sessions, each is what it would be if forks copied everything.
//
// Rules: K2.
func TestForksAreLikeCopies(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		steps := sampletest.Number(t, "steps of each forest", 8, 16) // of a fifth of the forests
		rapid.Check(t, func(r *rapid.T) {
			w := forest{e: e, r: r}
			w.list = append(w.list, &copied{id: e.create().ID, files: map[string]string{}})
			w.refresh(w.list[0])
			for range rapid.IntRange(1, steps).Draw(r, "steps") {
				w.step()
			}
			for _, c := range w.list {
				w.compare(c)
			}
		})
	})
}

type forest struct {
	e    *env
	r    *rapid.T
	list []*copied
	n    int
}

func (w *forest) step() {
	c := w.list[rapid.IntRange(0, len(w.list)-1).Draw(w.r, "session")]
	w.n++
	text := fmt.Sprint(w.n)
	switch rapid.SampledFrom([]string{"say", "play", "play", "play", "write", "fork", "fork"}).Draw(w.r, "what") {
	case "say":
		id := w.e.say(c.id, text)
		c.waiting, c.texts = append(c.waiting, id), append(c.texts, text)
	case "play":
		w.play(c, text)
	case "write":
		w.e.writeAs(c.id, w.edits()...)
	case "fork":
		w.fork(c)
	}
	w.refresh(c)
}

// play lets the turn at work end, or the next one begin; half of those end at once.
func (w *forest) play(c *copied, text string) {
	begin := c.open == nil
	if begin {
		if len(c.waiting) == 0 {
			c.waiting, c.texts = append(c.waiting, w.e.say(c.id, text)), append(c.texts, text)
		}
		c.open, c.text, c.waiting, c.texts = &c.waiting[0], c.texts[0], c.waiting[1:], c.texts[1:]
		c.messages = append(c.messages, "U"+c.text)
	}
	end := !begin || rapid.Bool().Draw(w.r, "ends")
	w.e.play(c.id, begin, end, w.e.changes(c.id, w.edits()...))
	w.refresh(c)
	if !end {
		return
	}
	c.messages, c.turns = append(c.messages, "Aok"), append(c.turns, *c.open)
	turn, err := w.e.svc.Turn(w.e.t.Context(), w.e.by.OrgID, *c.open)
	if err != nil {
		w.r.Fatal(err)
	}
	c.open = nil
	was := c.at()
	was.log = was.log[:*turn.EndedSequence]
	c.ends = append(c.ends, was)
}

func (w *forest) fork(c *copied) {
	var f copied
	in := NewFork{SessionID: c.id}
	if i := rapid.IntRange(0, len(c.ends)).Draw(w.r, "turn"); i < len(c.ends) {
		f = c.ends[i].at()
		f.ends = slices.Clone(c.ends[:i+1])
		in.ThroughTurnID = &c.turns[i]
	} else {
		f = c.at()
	}
	s, err := w.e.svc.Fork(w.e.t.Context(), w.e.by, in)
	if in.ThroughTurnID == nil && (c.open != nil || len(c.waiting) > 0) {
		if err == nil {
			w.r.Fatal("a session at work was forked")
		}
		return
	}
	if err != nil {
		w.r.Fatal(err)
	}
	f.id = s.ID
	if s.BaseSequence != int64(len(f.log)) {
		w.r.Fatalf("the fork begins at %d, want %d", s.BaseSequence, len(f.log))
	}
	w.list = append(w.list, &f)
	w.compareFiles(&f)
	w.refresh(&f)
}

func (w *forest) edits() (list []edit) {
	paths := []string{"/workspace/a", "/workspace/d", "/workspace/d/x", "/workspace/d/e/y", "/workspace/d/e", "/workspace/z"}
	for range rapid.IntRange(0, 3).Draw(w.r, "edits") {
		change := edit{path: rapid.SampledFrom(paths).Draw(w.r, "path")}
		if rapid.IntRange(0, 2).Draw(w.r, "kind") > 0 {
			change.content = []byte(rapid.SampledFrom([]string{"", "one", "other", "\xff\x00"}).Draw(w.r, "content"))
		}
		list = append(list, change)
	}
	return list
}

// refresh adds what the session itself has done since.
func (w *forest) refresh(c *copied) {
	log := w.e.wholeLog(w.e.t.Context(), c.id, 500)
	ids := eventIDs(log)
	if !slices.Equal(ids[:len(c.log)], c.log) {
		w.r.Fatalf("the history of %s has changed", c.id)
	}
	c.log = ids
	c.files = w.e.entries(c.id)
}

func (w *forest) compareFiles(c *copied) {
	if got := w.e.entries(c.id); !maps.Equal(got, c.files) {
		w.r.Fatalf("the files of a fork are\n%v, want\n%v", got, c.files)
	}
}

func (w *forest) compare(c *copied) {
	e, row := w.e, w.e.get(c.id)
	page := rapid.IntRange(1, 7).Draw(w.r, "page")
	log := e.wholeLog(e.t.Context(), c.id, page)
	wantOwn(e.t, row, log)
	if !slices.Equal(eventIDs(log), c.log) {
		w.r.Fatalf("the log of %s is not what it was", c.id)
	}
	if err := events.CheckPrefix(log); err != nil {
		w.r.Fatal(err)
	}
	w.comparePages(row, log, page)
	for _, back := range []bool{false, true} {
		list := e.messages(row, back, page)
		if !slices.IsSortedFunc(list, func(a, b models.Message) int { return cmp.Compare(a.Sequence, b.Sequence) }) {
			w.r.Fatal("the messages are not in their order")
		}
		// What waits is a message of the session, but not of the conversation, which has another order.
		list = slices.DeleteFunc(list, func(m models.Message) bool { return m.Position == nil })
		slices.SortFunc(list, func(a, b models.Message) int { return cmp.Compare(*a.Position, *b.Position) })
		if got := texts(list); !slices.Equal(got, c.messages) {
			w.r.Fatalf("the messages of %s are %v, want %v", c.id, texts(list), c.messages)
		}
		want := slices.Clone(c.turns)
		if c.open != nil {
			want = append(want, *c.open)
		}
		want = append(want, c.waiting...)
		if got := e.turnIDs(row, back, page); !slices.Equal(got, want) {
			w.r.Fatalf("the turns of %s are %v, want %v", c.id, got, want)
		}
	}
}

// comparePages reads the log from both ends, all of it and some kinds.
func (w *forest) comparePages(row *models.Session, log []models.Event, page int) {
	for _, kinds := range [][]models.EventKind{nil, {models.EventTurnCompleted, models.EventSessionStarted}} {
		var want []models.EventID
		for _, ev := range log {
			if kinds == nil || slices.Contains(kinds, ev.Kind) {
				want = append(want, ev.ID)
			}
		}
		for _, back := range []bool{false, true} {
			var got []models.EventID
			q := events.PageQuery{Base: row.BaseSequence, Limit: page, Backward: back, Kinds: kinds}
			for {
				list, err := w.e.svc.log.Page(w.e.t.Context(), row.OrgID, row.ID, q)
				if err != nil {
					w.r.Fatal(err)
				}
				got = append(got, eventIDs(list)...)
				if len(list) < page {
					break
				}
				last := list[len(list)-1].Sequence
				if back {
					q.Before = &last
				} else {
					q.After = &last
				}
			}
			if back {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				w.r.Fatalf("pages of the log of %s (%v, backward %v) don't fit together", row.ID, kinds, back)
			}
		}
	}
}
