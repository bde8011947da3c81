package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/bench/turnshape"
)

// orgs is how many organizations share the load.
const orgs = 100

// The messages that bring the turns. Model sim-script plays a message that is a script; no chunk waits.
const (
	answerText  = `It is noon, and since that is all that was asked for, this answer ends here.`
	toolMessage = `{"responses":[{"chunks":[{"text":"Let me look at the clock."},{"tool_call":{"name":"get_current_time"}}]},` +
		`{"chunks":[{"text":"` + answerText + `"}]}]}`
	textMessage = `{"responses":[{"chunks":[{"text":"` + answerText + `"}]}]}`
)

// system is what is measured: a product, and beside it a floor on the same kind of database.
type system struct {
	*bench
	kind    string
	product *procs.Process
	api     *client.Product
	place   *place

	floors     *procs.Process
	model      *procs.Process
	floorPlace *place

	// others are stopped after the product, in their order: further nodes, the bus, a floor of another kind.
	others []*procs.Process

	postmaster int    // 0 without PostgreSQL
	walStart   string // the position in PostgreSQL's log that commits are counted from
	// done is what conversations have seen done, by program; it must be what the databases hold.
	done [2]effects
	// resumes is how many waiting turns of the product have been seen to go on.
	resumes int
}

// effects counts what was done.
type effects struct {
	turns, tools int
	events       int64
}

const (
	noFloor   = false
	withFloor = true
)

// startSystem starts a product with its organizations and, if wanted, a floor with the shape of the product's turns.
func (b *bench) startSystem(ctx context.Context, kind string, floor bool) (*system, error) {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return nil, err
	}
	return b.startSystemAt(ctx, kind, floor, at)
}

func (b *bench) startSystemAt(ctx context.Context, kind string, floor bool, at *place) (*system, error) {
	return b.startSystemWith(ctx, kind, floor, at, setup())
}

// setup is what the product is prepared with, unless a figure needs something else.
func setup() client.Setup {
	return client.Setup{
		Email: ownerEmail, Password: ownerPassword, Orgs: orgs,
		Model: "sim-script", ToolMessage: toolMessage, TextMessage: textMessage,
	}
}

func (b *bench) startSystemWith(ctx context.Context, kind string, floor bool, at *place, setup client.Setup) (*system, error) {
	s := &system{bench: b, kind: kind, place: at}
	var err error
	if s.product, err = b.startProduct(ctx, s.place); err == nil {
		s.api, err = client.Prepare(ctx, s.product.URL, setup)
	}
	if err == nil && kind == postgres {
		s.postmaster, err = postmaster(ctx, s.place.url)
	}
	if err == nil && floor {
		var shapes turnshape.Shapes
		if shapes, err = s.shapes(ctx); err == nil {
			err = s.startFloor(ctx, shapes)
		}
	}
	if err != nil {
		if s.product != nil {
			err = fmt.Errorf("%w\n%s", err, s.product.Output())
		}
		return nil, errors.Join(err, s.kill(ctx))
	}
	return s, nil
}

// shapes reads off the product what its turns make durable.
func (s *system) shapes(ctx context.Context) (turnshape.Shapes, error) {
	var shapes turnshape.Shapes
	for kind, shape := range map[client.TurnKind]*turnshape.Shape{client.ToolTurn: &shapes.Tool, client.TextTurn: &shapes.Text} {
		conversations, err := openConversations(ctx, s.api, 1)
		if err != nil {
			return shapes, err
		}
		events, err := s.recordTurn(ctx, conversations[0], kind)
		if err = errors.Join(err, closeConversations(conversations)); err != nil {
			return shapes, fmt.Errorf("a first turn: %w", err)
		}
		s.countConversations(armProduct, conversations)
		*shape = turnshape.Split(events)
		s.progressf("%s: a turn is %d events, %d bytes, %d commits of the floor", s.kind, shape.Events(), shape.Bytes(), len(*shape))
	}
	return shapes, nil
}

// recordTurn returns the events of a session's second turn: the first one may do things that are done once.
func (s *system) recordTurn(ctx context.Context, c *conversation, kind client.TurnKind) ([]turnshape.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	var mu sync.Mutex
	var events []turnshape.Event
	c.watch(func(e client.Event) {
		if !client.Ephemeral(e.Kind) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, turnshape.Event{Kind: e.Kind, Bytes: len(e.Data)})
		}
	})
	defer c.watch(nil)
	for range 2 {
		if _, err := c.turn(ctx, kind, time.Now()); err != nil {
			return nil, err
		}
		// The turn's last event, SESSION_IDLED, comes with TURN_COMPLETED or a moment after.
		time.Sleep(200 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	for i := len(events) - 1; i > 0; i-- {
		if events[i].Kind == "MESSAGE_RECEIVED" {
			return slices.Clone(events[i:]), nil
		}
	}
	return nil, fmt.Errorf("no MESSAGE_RECEIVED among %d events", len(events))
}

func (s *system) startFloor(ctx context.Context, shapes turnshape.Shapes) error {
	var err error
	if s.floorPlace, err = s.newPlace(ctx, s.kind); err != nil {
		return err
	}
	if err := shapes.Write(filepath.Join(s.floorPlace.dir, shapesFile)); err != nil {
		return err
	}
	if s.model, err = procs.Start(ctx, procs.Program{Path: s.fakeModel}); err != nil {
		return err
	}
	s.floors, err = s.startFloorOn(ctx, s.floorPlace)
	return err
}

// shapesFile is where the shapes of turns are, in the place of a floor.
const shapesFile = "shapes.json"

// startFloorOn starts a floor on a place where the shapes of turns are.
func (s *system) startFloorOn(ctx context.Context, at *place) (*procs.Process, error) {
	database := at.url
	if database == "" {
		database = filepath.Join(at.dir, "floor.db")
	}
	return procs.Start(ctx, procs.Program{
		Path: s.options.floor,
		Args: []string{"-database", database, "-model-url", s.model.URL, "-shape", filepath.Join(at.dir, shapesFile)},
	})
}

// floor returns the floor with one of its models.
func (s *system) floor(model string) target { return client.NewFloor(s.floors.URL, model) }

// cpu is processor time: what this program, what it has started, and PostgreSQL have used, and what all programs have.
type cpu struct{ own, all time.Duration }

func (s *system) cpu() (cpu, error) {
	var c cpu
	var err error
	if c.all, err = procs.Busy(); err != nil {
		return c, err
	}
	if c.own, err = procs.CPU(os.Getpid()); err != nil || s.postmaster == 0 {
		return c, err
	}
	database, err := procs.CPU(s.postmaster)
	c.own += database
	return c, err
}

// foreign is the share of the machine that other programs had since before.
func (c cpu) foreign(before cpu, lasted time.Duration) float64 {
	used := (c.all - before.all) - (c.own - before.own)
	return max(0, float64(used)/float64(lasted)/float64(runtime.NumCPU()))
}

// add puts a figure of this system into the run.
func (s *system) add(f report.Figure) {
	f.Database = s.kind
	s.run.Add(f)
}

// count notes what a run has seen done.
func (s *system) count(arm int, m measurement) {
	program := min(arm, 1) // both models are the same floor
	s.done[program].turns += m.turns
	s.done[program].tools += m.tools
	s.done[program].events += m.events
}

// countConversations notes what closed conversations have seen done.
func (s *system) countConversations(arm int, conversations []*conversation) {
	for _, c := range conversations {
		s.count(arm, measurement{turns: c.turns, tools: c.tools, events: c.last})
	}
}

// end stops a system after a run that went well, and kills it after one that did not.
func (s *system) end(ctx context.Context, err error) error {
	if err == nil {
		return s.stop(ctx)
	}
	if output := s.product.Output(); output != "" {
		err = fmt.Errorf("%w\nthe product said last:\n%s", err, output)
	}
	return errors.Join(err, s.kill(ctx))
}

// stop ends the programs, checks the databases against what was seen, and removes them.
func (s *system) stop(ctx context.Context) error {
	var all []error
	for _, p := range append([]*procs.Process{s.product, s.floors, s.model}, s.others...) {
		if p != nil {
			all = append(all, p.Stop())
		}
	}
	if s.product != nil {
		all = append(all, verifyProduct(ctx, s.place, s.done[0], s.resumes))
	}
	if s.floors != nil {
		all = append(all, verifyFloor(ctx, s.floorPlace, s.done[1]))
	}
	return errors.Join(append(all, s.remove(ctx))...)
}

// kill ends the programs of a system that did not start, and removes what they left.
func (s *system) kill(ctx context.Context) error {
	for _, p := range append([]*procs.Process{s.product, s.floors, s.model}, s.others...) {
		if p != nil {
			_ = p.Stop()
		}
	}
	return s.remove(ctx)
}

func (s *system) remove(ctx context.Context) error {
	var all []error
	for _, p := range []*place{s.place, s.floorPlace} {
		if p != nil {
			all = append(all, p.remove(context.WithoutCancel(ctx)))
		}
	}
	return errors.Join(all...)
}

// postmaster returns the process of the server, when it is on this machine.
func postmaster(ctx context.Context, url string) (int, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var backend int
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return 0, err
	}
	return procs.Parent(backend)
}
