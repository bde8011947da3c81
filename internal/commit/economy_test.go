package commit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

type measured struct {
	name       string
	prepare    func() []Command
	statements int
}

// roundTrips are two for each transaction.
func (m measured) roundTrips() int64 {
	if m.statements > 10 {
		return 4
	}
	return 2
}

// What a batch costs on PostgreSQL, counted: these are upper bounds that a change must not raise unseen.
func TestTheCostOfABatch(t *testing.T) {
	w := onPostgres(t)
	l := newLine(t, w)
	c := w.over(l)
	many := func(n int, prepare func() Command) func() []Command {
		return func() []Command {
			var list []Command
			for range n {
				list = append(list, prepare())
			}
			return list
		}
	}
	send := func() Command { return w.send(w.session(), newMessage()) }
	answered := func() Command {
		return w.answered(w.session(), models.NewID[models.EventEntity]().String(), newMessage(), never)
	}
	step := func() Command { s, l := w.working(); return w.step(s, l) }
	end := func() Command { s, l := w.working(); return w.onlyEnd(s, l) }
	steerAndEnd := func() Command {
		s, l := w.working()
		w.do(w.send(s, newMessage()))
		return w.end(s, l)
	}
	for _, m := range []measured{
		// BEGIN, session, turn; what the session owns, feed with events, COMMIT
		{"one message", many(1, send), 6},
		{"256 messages", many(256, send), 6},
		// the key, twice
		{"one message with a key", many(1, answered), 8},
		{"256 messages with keys", many(256, answered), 8},
		// the events, which aren't in the feed, are among what the session owns
		{"one step", many(1, step), 5},
		{"256 steps", many(256, step), 5},
		{"one end", many(1, end), 6},
		{"256 ends", many(256, end), 6},
		// session, lineage, files, plan, feed
		{"one fork", many(1, func() Command { return w.fork(w.session(), newID(), 0) }), 9},
		// BEGIN, session, turn, ROLLBACK; then also next turn and inbox; what the session owns, feed
		{"one end with an inbox", many(1, steerAndEnd), 12},
		{"256 ends with inboxes", many(256, steerAndEnd), 12},
	} {
		must(t, batch(c, m.prepare()...)) // prepares the statements
		cmds := m.prepare()
		l.begin()
		must(t, batch(c, cmds...))
		statements, writes := l.seen()
		statements = slices.DeleteFunc(statements, func(sql string) bool { return sql == "DISCARD PLANS" }) // once in a while
		if len(statements) != m.statements {
			t.Errorf("%s: %d statements, want %d:\n%s", m.name, len(statements), m.statements, strings.Join(statements, "\n"))
		}
		// A message that is larger than the buffer of the connection takes several writes, not several round trips.
		if want := m.roundTrips(); len(cmds) == 1 && writes != want {
			t.Errorf("%s: %d round trips, want %d", m.name, writes, want)
		}
		t.Log(fmt.Sprintf("%-24s", m.name), len(statements), "statements,", writes, "writes to the connection")
	}
}
