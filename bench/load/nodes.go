package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
)

const (
	// nodeShare is how much of a processor a node of P12 gets. Two of them leave enough of a small machine to the database and
	// the load.
	nodeShare = 0.3
	// nodeSessions is how many sessions are at work, with one node and with two: more than enough to use up the shares.
	nodeSessions = 64
)

// startWithBus starts a product that is ready for further nodes: on PostgreSQL, with a bus.
func (b *bench) startWithBus(ctx context.Context, floor bool) (*system, error) {
	bus, err := procs.Start(ctx, procs.Program{Path: b.natsd, Args: []string{"-addr", "127.0.0.1:0"}})
	if err != nil {
		return nil, err
	}
	at, err := b.newPlace(ctx, postgres)
	if err != nil {
		return nil, errors.Join(err, bus.Stop())
	}
	// All nodes have one name, so that the tokens of one are good at the others.
	at.env = []string{"OSTLER_NATS_URL=" + bus.URL, "OSTLER_PUBLIC_URL=http://bench.invalid"}
	s, err := b.startSystemAt(ctx, postgres, floor, at)
	if err != nil {
		return nil, errors.Join(err, bus.Stop())
	}
	s.others = []*procs.Process{bus}
	return s, nil
}

// startSecond starts a second node on the same database. The system does not stop it.
func (s *system) startSecond(ctx context.Context) (*procs.Process, error) {
	second := *s.place
	second.addr, second.dir = "", filepath.Join(s.place.dir, "second")
	if err := os.MkdirAll(second.dir, 0o700); err != nil {
		return nil, err
	}
	return s.startProduct(ctx, &second)
}

// twoNodes takes P12: how many more turns two nodes do than one, each with a share of a processor, against how many more two floors
// do. SQLite has one process only.
func (b *bench) twoNodes(ctx context.Context, kind string) (err error) {
	if kind != postgres {
		return nil
	}
	limits, err := newNodeLimits()
	defer func() { err = errors.Join(err, limits.remove()) }()
	if errors.Is(err, procs.ErrNoCPULimits) {
		b.run.Add(report.Figure{
			ID: "P12", Database: kind, Name: nodesFigure, Gate: report.AtLeast(0.7), Target: report.AtLeast(0.95), Absent: true,
			Note: "not taken: " + err.Error(),
		})
		return nil
	}
	if err != nil {
		return err
	}
	s, err := b.startWithBus(ctx, withFloor)
	if err != nil {
		return err
	}
	return s.end(ctx, s.takeTwoNodes(ctx, limits))
}

const nodesFigure = "turns/s of two nodes against one"

// nodeLimits are the shares of the nodes: each has one of its own.
type nodeLimits struct{ product, floor [2]*procs.CPULimit }

func newNodeLimits() (*nodeLimits, error) {
	l := &nodeLimits{}
	for i := range 2 {
		for name, at := range map[string]**procs.CPULimit{"product": &l.product[i], "floor": &l.floor[i]} {
			var err error
			if *at, err = procs.NewCPULimit(fmt.Sprintf("ostler-bench-%d-%s-%d", os.Getpid(), name, i+1), nodeShare); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

func (l *nodeLimits) remove() error {
	var all []error
	for _, limit := range slices.Concat(l.product[:], l.floor[:]) {
		if limit != nil {
			all = append(all, limit.Remove())
		}
	}
	return errors.Join(all...)
}

// The runs of a pair of P12.
const (
	productOne = iota
	productTwo
	floorOne
	floorTwo
	nodeRuns
)

func (s *system) takeTwoNodes(ctx context.Context, limits *nodeLimits) error {
	secondFloor, err := s.startFloorOn(ctx, s.floorPlace)
	if err != nil {
		return err
	}
	s.others = append(s.others, secondFloor)
	for _, p := range []struct {
		limit *procs.CPULimit
		of    *procs.Process
	}{{limits.product[0], s.product}, {limits.floor[0], s.floors}, {limits.floor[1], secondFloor}} {
		if err := p.limit.Add(p.of.PID()); err != nil {
			return err
		}
	}
	// With the model inside of it a floor does so many turns with its share that database and load are what is scarce, not the nodes,
	// and a second floor adds little. The model over HTTP, which is outside of the share, costs it more.
	floors := []target{s.floor("http"), client.NewFloor(secondFloor.URL, "http")}
	runs := [nodeRuns]func() (limitedRun, error){
		productOne: func() (limitedRun, error) { return s.limited(ctx, []target{s.api}, limits.product[:1]) },
		productTwo: func() (limitedRun, error) { return s.withSecond(ctx, limits.product) },
		floorOne:   func() (limitedRun, error) { return s.limited(ctx, floors[:1], limits.floor[:1]) },
		floorTwo:   func() (limitedRun, error) { return s.limited(ctx, floors, limits.floor[:]) },
	}
	var rates [nodeRuns][]float64
	var scaling, floorScaling, ratios, foreign []float64
	unbound := 0
	for pair := range s.pairs + 1 { // the first one only warms up
		var m [nodeRuns]limitedRun
		for i := range nodeRuns {
			run := i
			if pair%2 == 1 {
				run = nodeRuns - 1 - i
			}
			if m[run], err = runs[run](); err != nil {
				return err
			}
			s.count(run/floorOne, m[run].measurement)
		}
		product, floor := m[productTwo].perSecond/m[productOne].perSecond, m[floorTwo].perSecond/m[floorOne].perSecond
		s.progressf("P12: product %.0f and %.0f turns/s (%.2f), floor %.0f and %.0f (%.2f)", m[productOne].perSecond, m[productTwo].perSecond, product,
			m[floorOne].perSecond, m[floorTwo].perSecond, floor)
		if pair == 0 {
			continue
		}
		scaling, floorScaling, ratios = append(scaling, product), append(floorScaling, floor), append(ratios, product/floor)
		for run := range m {
			rates[run], foreign = append(rates[run], m[run].perSecond), append(foreign, m[run].foreign)
			if !m[run].bound {
				unbound++
			}
		}
	}
	note := fmt.Sprintf("%.1f CPU each, %d sessions; product %.0f and %.0f/s, floor %.0f and %.0f/s", nodeShare, nodeSessions,
		report.Median(rates[productOne]), report.Median(rates[productTwo]), report.Median(rates[floorOne]), report.Median(rates[floorTwo]))
	if unbound > 0 {
		note += fmt.Sprintf("; in %d of %d runs of two the shares were not used up", unbound, 2*s.pairs)
	}
	s.add(report.Figure{
		ID: "P12", Name: nodesFigure, Unit: "times", Samples: scaling, Floor: report.Median(floorScaling), Ratios: ratios,
		Gate: report.AtLeast(0.7), Target: report.AtLeast(0.95), Foreign: report.Median(foreign),
		Note: note,
	})
	return nil
}

// withSecond runs the product with a second node, which is there only meanwhile: one that is idle would take turns as well.
func (s *system) withSecond(ctx context.Context, limits [2]*procs.CPULimit) (m limitedRun, err error) {
	node, err := s.startSecond(ctx)
	if err != nil {
		return m, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nthe second node said last:\n%s", err, node.Output())
		}
		err = errors.Join(err, node.Stop())
	}()
	if err := limits[1].Add(node.PID()); err != nil {
		return m, err
	}
	return s.limited(ctx, []target{s.api, s.api.At(node.URL)}, limits[:])
}

// limited runs turns at all of the nodes, as many sessions at each. It is an error when a node that is alone had not used up its
// share once: then something else was measured. Where several had not, the machine may be what is scarce, which is noted.
func (s *system) limited(ctx context.Context, nodes []target, limits []*procs.CPULimit) (m limitedRun, err error) {
	const expected = maxRate / 2
	var prepared [][]*conversation
	for _, node := range nodes {
		own, err := prepare(ctx, node, nodeSessions/len(nodes), s.lasts, expected/float64(len(nodes)))
		if err != nil {
			return m, errors.Join(err, closeConversations(slices.Concat(prepared...)))
		}
		prepared = append(prepared, own...)
	}
	before, err := throttled(limits)
	if err != nil {
		return m, errors.Join(err, closeConversations(slices.Concat(prepared...)))
	}
	if m.measurement, err = s.drive(ctx, prepared, s.lasts); err != nil {
		return m, err
	}
	after, err := throttled(limits)
	m.bound = after > before
	if err == nil && !m.bound && len(nodes) == 1 {
		err = fmt.Errorf("a node of %.1f CPU did not use up its share once in %s", nodeShare, s.lasts)
	}
	return m, err
}

// limitedRun is a run of nodes with shares; bound tells that any of them had used up its share at some time.
type limitedRun struct {
	measurement

	bound bool
}

func throttled(limits []*procs.CPULimit) (sum int64, err error) {
	for _, l := range limits {
		n, err := l.Throttled()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
