package events

import (
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// CheckLog checks the whole log of a session that is at rest: everything that CheckPrefix checks, and that nothing is
// left open. Tests and fault programs call it on every log that they have made.
func CheckLog(log []models.Event) error {
	c := checkAll(log, kinds)
	c.event = models.Event{}
	for thing := range c.open {
		c.failf("%s %s was begun and never ended", thing.kind, thing.id)
	}
	for turn := range c.queued {
		c.failf("turn %s was queued and never began", turn)
	}
	return errors.Join(c.errs...)
}

// CheckPrefix checks a log from its first event on: sequences are 1 to n without gaps, ids are unique, data is what its
// kind says, each thing is begun once and ended at most once, and in the right order; positions in the feed rise with the
// sequence.
func CheckPrefix(log []models.Event) error { return errors.Join(checkAll(log, kinds).errs...) }

func checkAll(log []models.Event, rows kindTable) *checker {
	c := &checker{
		open: map[thing]bool{}, done: map[thing]bool{}, ids: map[models.EventID]bool{},
		received: map[models.MessageID]bool{}, queued: map[models.TurnID]bool{}, rows: rows,
	}
	for i, e := range log {
		c.at, c.event = i, e
		c.check(log)
		if len(c.errs) >= maxFindings {
			break
		}
	}
	return c
}

// maxFindings bounds what is reported of one log: the first is what matters.
const maxFindings = 20

// thing is one of the things that events open and close.
type thing struct {
	kind Thing
	id   string
}

type checker struct {
	errs  []error
	at    int
	event models.Event

	rows     kindTable
	ids      map[models.EventID]bool
	received map[models.MessageID]bool
	queued   map[models.TurnID]bool
	// fed is the last position in the feed.
	fed int64
	// turn is the active one; parked reports that it waits.
	turn   *models.TurnID
	parked bool
	// open and done hold what was begun, and what was begun and ended.
	open, done map[thing]bool
}

func (c *checker) failf(format string, args ...any) {
	where := "at the end"
	if c.event.Kind != "" {
		where = fmt.Sprintf("%s, sequence %d", c.event.Kind, c.event.Sequence)
	}
	c.errs = append(c.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func (c *checker) check(log []models.Event) {
	e := c.event
	if want := int64(c.at + 1); e.Sequence != want {
		c.failf("the sequence should be %d", want)
	}
	if e.OrgID != log[0].OrgID || e.SessionID != log[0].SessionID {
		c.failf("it belongs to another session, %s", e.SessionID)
	}
	if c.at == 0 && e.Kind != models.EventSessionStarted {
		c.failf("SESSION_STARTED is the first event of every log")
	}
	if e.ID.IsZero() || c.ids[e.ID] {
		c.failf("its id %s is not its own", e.ID)
	}
	c.ids[e.ID] = true
	c.position()
	row, ok := c.rows[e.Kind]
	if !ok || !row.Durable {
		c.failf("there are no durable events of this kind")
		return
	}
	p, err := c.rows.decode(e.Kind, e.Data)
	if err != nil {
		c.failf("%v", err)
		return
	}
	c.rules(p)
	if row.Opens != Nothing {
		c.begin(c.identify(row.Opens, p))
	}
	if row.Closes != Nothing {
		c.end(c.identify(row.Closes, p))
	}
}

// identify returns which thing an event begins or ends.
func (c *checker) identify(kind Thing, p Payload) thing {
	id, turn := "", ""
	if c.event.TurnID != nil {
		turn = c.event.TurnID.String()
	}
	switch p := p.(type) {
	case ReasonStarted:
		id = fmt.Sprintf("%s/%d", turn, p.Iteration)
	case ReasonCompleted:
		id = fmt.Sprintf("%s/%d", turn, p.Iteration)
	case ActStarted:
		id = fmt.Sprintf("%s/%d", turn, p.Iteration)
	case ActCompleted:
		id = fmt.Sprintf("%s/%d", turn, p.Iteration)
	case OutputStarted:
		id = p.MessageID.String()
	case OutputCompleted:
		id = p.Message.ID.String()
	case ToolStarted:
		id = p.ToolCallID
	case ToolCompleted:
		id = p.ToolCallID
	case SessionActivated, SessionIdled:
	default:
		id = turn
	}
	if id == "" && kind != ThingWork {
		c.failf("it doesn't say which %s it is about", kind)
	}
	return thing{kind, id}
}

func (c *checker) begin(t thing) {
	switch {
	case c.open[t]:
		c.failf("%s %s has begun already", t.kind, t.id)
	case c.done[t]:
		c.failf("%s %s has ended already", t.kind, t.id)
	}
	c.open[t] = true
}

func (c *checker) end(t thing) {
	switch {
	case c.open[t]:
	case c.done[t]:
		c.failf("%s %s has ended already", t.kind, t.id)
	default:
		c.failf("%s %s has not begun", t.kind, t.id)
	}
	delete(c.open, t)
	// A session goes to rest again and again; everything else ends once.
	if t.kind != ThingWork {
		c.done[t] = true
	}
}
