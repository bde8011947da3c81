// Chaos breaks the product while it works and checks that nothing is lost, done twice or left behind: see docs/reliability.md. It
// starts the real program, built with the tag chaos, as child processes, drives them as clients do, kills, freezes and cuts them
// off, and judges by what the clients were told, what the database holds and what the tools did outside of it. `make chaos` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
)

// options are what a run is told.
type options struct {
	program    string // the product, built with the tag chaos
	databases  []string
	programs   []string
	dir        string
	postgres   string // URL of a superuser
	workers    int
	kills      int
	rounds     int // of R3, in cuts and freezes; of R9, in kills of all nodes; of R10, in restarts of all; 0 for what docs/reliability.md tells of
	turns      int // of R4
	cuts       int // of connections, in R6
	readers    int // that stop reading, in R6
	each       int // subscriptions of each of them
	seed       uint64
	lease      time.Duration // of the runners; 0 for the product's default
	failpoints string
	json       string
	short      bool
	verbose    bool
	// tell gets how far the run is, and what is wrong; several may write to it at once.
	tell io.Writer
}

// suite is a run of all that was asked for.
type suite struct {
	*options
	run *report.Run
}

// all are the fault programs, in order.
func (s *suite) all() []program {
	return []program{
		{"R1", []string{sqlite, postgres}, s.kill9},
		{"R3", []string{postgres}, s.freeze},
		{"R4", []string{postgres}, s.outages},
		{"R6", []string{sqlite, postgres}, s.disconnects},
		{"R9", []string{sqlite, postgres}, s.spend},
		{"R10", []string{postgres}, s.rolling},
	}
}

// program is a fault program and the databases on which it says something.
type program struct {
	id        string
	databases []string
	run       func(ctx context.Context, kind string) error
}

// says reports whether a program says something on a database: some need several nodes, or a database that can go away.
func (s *suite) says(id, kind string) bool {
	return slices.ContainsFunc(s.all(), func(p program) bool { return p.id == id && slices.Contains(p.databases, kind) })
}

func main() {
	o := &options{tell: os.Stderr}
	var databases, programs string
	flag.StringVar(&o.program, "program", "bin/chaos/ostler", "the product, built with the tag chaos")
	flag.StringVar(&databases, "databases", "sqlite,postgres", "the databases, in order")
	flag.StringVar(&programs, "programs", "R1,R3,R4,R6,R9,R10", "the fault programs")
	flag.StringVar(&o.dir, "dir", "/var/tmp", "where data goes")
	flag.IntVar(&o.workers, "workers", 16, "how many sessions are at work at once")
	flag.IntVar(&o.kills, "kills", 200, "R1, R9: how many processes are killed; R6: a tenth of it, at least")
	flag.IntVar(&o.rounds, "rounds", 0, "R3: how many freezes and cuts, 100 when 0; R9: how often all processes are killed at once, a tenth of the kills when 0; R10: how many restarts of all nodes, 20 when 0")
	flag.IntVar(&o.turns, "turns", 10_000, "R4: how many turns run during the outages")
	flag.IntVar(&o.cuts, "cuts", 10_000, "R6: how many connections of subscribers are cut")
	flag.IntVar(&o.readers, "readers", 100, "R6: how many subscribers stop reading")
	flag.IntVar(&o.each, "subscriptions", 1, "R6: how many subscriptions each of them has on its socket")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of what is broken, and when; the machine's timing is not in it")
	flag.DurationVar(&o.lease, "lease", 0, "how long a runner may be silent before others take its turns over; it tells of itself four times as often. 0: the product's defaults")
	flag.StringVar(&o.failpoints, "failpoints", "", "R1, R6: failures of the committer, e.g. committed=error@0.01,written=stall:50ms@0.01")
	flag.StringVar(&o.json, "json", "", "append the JSON lines to this file as well")
	flag.BoolVar(&o.short, "short", false, "few faults, short leases: to see that everything works, not for figures")
	flag.BoolVar(&o.verbose, "verbose", false, "show what the nodes print on standard error")
	flag.Parse()
	o.postgres = os.Getenv("OSTLER_TEST_POSTGRES_URL")
	o.databases, o.programs = strings.Split(databases, ","), strings.Split(programs, ",")
	if o.short {
		o.shorten()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := newSuite(o).runAll(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do for the signal handler
	}
	if missed > 0 {
		fmt.Printf("\n%d figures miss their gate.\n", missed)
		os.Exit(2)
	}
}

// shorten makes a run of some seconds.
func (o *options) shorten() {
	o.short = true
	o.workers, o.kills, o.rounds, o.turns, o.cuts, o.readers = 6, 4, 1, 30, 20, 3
	o.each = max(o.each, 2)
	o.lease = shortLease
}

func newSuite(o *options) *suite {
	return &suite{options: o, run: &report.Run{
		Time: time.Now(), Commit: report.Commit(), Machine: report.ThisMachine(), Durability: map[string]string{},
	}}
}

// runAll runs the programs and prints the figures. missed is how many don't hold their gate.
func (s *suite) runAll(ctx context.Context, out io.Writer) (missed int, err error) {
	known := map[string]bool{}
	for _, p := range s.all() {
		known[p.id] = true
		if !slices.Contains(s.programs, p.id) {
			continue
		}
		for _, kind := range s.databases {
			if !s.says(p.id, kind) {
				continue
			}
			if err := p.run(ctx, kind); err != nil {
				err = fmt.Errorf("%s on %s: %w", p.id, kind, err)
				return 0, errors.Join(err, s.print(out))
			}
		}
	}
	for _, id := range s.programs {
		if !known[id] {
			return 0, fmt.Errorf("-programs has %q, which is none", id)
		}
	}
	if len(s.run.Figures) == 0 {
		return 0, errors.New("nothing was run: no program has that database")
	}
	return s.run.Missed(), s.print(out)
}

// print prints the lines for programs first, so that the table is what stays on the screen.
func (s *suite) print(out io.Writer) error {
	if err := s.run.WriteJSON(out); err != nil {
		return err
	}
	if err := s.run.WriteTable(out); err != nil {
		return err
	}
	if s.json == "" {
		return nil
	}
	file, err := os.OpenFile(s.json, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(s.run.WriteJSON(file), file.Close())
}
