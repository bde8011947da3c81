// Load takes the figures of docs/benchmarks.md: it starts the product's binary, the floor and the fake model, puts
// load on them, checks what they have done, and prints a table and one JSON line per figure. A run in which anything
// went wrong prints no figures. `make bench` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ostler-dev/ostler/bench/report"
)

// options are what a run is told.
type options struct {
	product, floor, fakeModel string // programs
	natsd, fanout             string
	databases, figures        []string
	dir                       string
	postgres                  string // URL of a superuser
	pairs                     int
	lasts                     time.Duration
	sessions                  []int    // at work at once, for P1
	env                       []string // of the product, beside what it needs
	json                      string
	small                     bool // as small as can be: to see that everything works
}

// bench is a run of all that was asked for.
type bench struct {
	options
	run *report.Run
	dir string
}

func main() {
	var o options
	var databases, figures, env, sessions string
	quick := flag.Bool("quick", false, "short runs and few of them: to see that everything works, not for figures")
	flag.StringVar(&o.product, "product", "bin/ostler", "the product's program")
	flag.StringVar(&o.floor, "floor", "bin/bench/floor", "the floor's program")
	flag.StringVar(&o.fakeModel, "fakemodel", "bin/bench/fakemodel", "the fake model's program")
	flag.StringVar(&o.natsd, "natsd", "bin/bench/natsd", "the bus, for two nodes")
	flag.StringVar(&o.fanout, "fanout", "bin/bench/fanout", "the floor of P4")
	flag.StringVar(&databases, "databases", "sqlite,postgres", "the databases, in order")
	flag.StringVar(&figures, "figures", "P1,P2,P3,P4,P5,P6,P7,P8,P9,P10,P11,P12,P13,P14,S1,S4,U1", `the figures; "floor" for the floor's own only when named`)
	flag.StringVar(&sessions, "sessions", "1,8,32,256", "how many sessions are at work at once, for P1")
	flag.StringVar(&o.dir, "dir", "/var/tmp", "where data goes; must not be in memory")
	flag.StringVar(&env, "env", "", "more settings of the product: NAME=value,…")
	flag.StringVar(&o.json, "json", "", "append the JSON lines to this file as well")
	flag.IntVar(&o.pairs, "pairs", 5, "pairs of runs of product and floor")
	flag.DurationVar(&o.lasts, "lasts", 3*time.Second, "how long one run lasts")
	flag.Parse()
	o.postgres = os.Getenv("OSTLER_TEST_POSTGRES_URL")
	o.databases, o.figures = strings.Split(databases, ","), strings.Split(figures, ",")
	for n := range strings.SplitSeq(sessions, ",") {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 {
			fmt.Fprintf(os.Stderr, "load: -sessions has %q: want numbers above 0, with commas between them\n", n)
			os.Exit(2)
		}
		o.sessions = append(o.sessions, count)
	}
	if env != "" {
		o.env = strings.Split(env, ",")
	}
	if *quick {
		o.pairs, o.lasts, o.small = 1, time.Second, true
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do for the signal handler
	}
	if *quick {
		fmt.Println("\nThis was a quick run: these are no figures.")
	} else if missed > 0 {
		fmt.Printf("\n%d figures miss their gate.\n", missed)
		os.Exit(2)
	}
}

// run takes the figures and prints them. missed is how many don't hold their gate.
func run(ctx context.Context, o options) (missed int, err error) {
	dir, err := os.MkdirTemp(o.dir, "ostler-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, dir: dir, run: &report.Run{
		Time: time.Now(), Commit: report.Commit(), Machine: report.ThisMachine(), Durability: map[string]string{},
	}}
	for _, kind := range o.databases {
		if err := b.database(ctx, kind); err != nil {
			return 0, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return b.run.Missed(), b.print()
}

// database takes the figures of one database.
func (b *bench) database(ctx context.Context, kind string) (err error) {
	if b.run.Durability[kind], err = b.durability(ctx, kind); err != nil {
		return err
	}
	want := func(figures ...string) bool {
		return slices.ContainsFunc(figures, func(f string) bool { return slices.Contains(b.figures, f) })
	}
	if want("floor") {
		if err := b.floorAlone(ctx, kind); err != nil {
			return err
		}
	}
	if want("P1") {
		if err := b.besideFloor(ctx, kind, (*system).turnsPerSecond); err != nil {
			return err
		}
	}
	if want("P2") {
		if err := b.besideFloor(ctx, kind, (*system).firstDelta); err != nil {
			return err
		}
	}
	for _, figure := range []struct {
		id   string
		take func(context.Context, string) error
	}{{"P3", b.live}, {"P4", b.fanOut}, {"P5", b.memory}, {"P5", b.turnMemory}, {"P6", b.startTimes}, {"P7", b.listSizes}, {"P8", b.longSessions}, {"P9", b.economy}, {"P10", b.toolSteps}, {"P11", b.budgets}, {"P12", b.twoNodes}, {"P13", b.pickup}, {"P14", b.resumed}, {"S1", b.foreignIDs}, {"U1", b.usageFigures}, {"S4", b.attackDocuments}} {
		if !want(figure.id) {
			continue
		}
		b.progressf("%s: %s", kind, figure.id)
		if err := figure.take(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", figure.id, err)
		}
	}
	return nil
}

// besideFloor takes figures for which product and floor run side by side. Each begins with empty databases: what another one has
// left to be cleaned up is not part of it.
func (b *bench) besideFloor(ctx context.Context, kind string, take func(*system, context.Context) error) error {
	s, err := b.startSystem(ctx, kind, withFloor)
	if err != nil {
		return err
	}
	return s.end(ctx, take(s, ctx))
}

// print prints the lines for programs first, so that the table is what stays on the screen.
func (b *bench) print() error {
	if err := b.run.WriteJSON(os.Stdout); err != nil {
		return err
	}
	if err := b.run.WriteTable(os.Stdout); err != nil {
		return err
	}
	if b.json == "" {
		return nil
	}
	file, err := os.OpenFile(b.json, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(b.run.WriteJSON(file), file.Close())
}

// progressf tells on standard error how far the run is.
func (b *bench) progressf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
