package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/procs"
	"github.com/ostler-dev/ostler/bench/report"
)

// longSize is which turns of a session P8 compares.
type longSize struct {
	// early turns come before the first range, late ones before the second; turns is how many each range has.
	early, late, turns int
}

func (b *bench) longSize() longSize {
	if b.small {
		return longSize{early: 10, late: 280, turns: 20}
	}
	return longSize{early: 10, late: 9900, turns: 100}
}

// smallWindow is the context window of P8's model in tokens: a handful of turns fill it, so the model is shown as much in the tenth
// turn as in the ten thousandth.
const smallWindow = 1000

// longSessions takes P8: whether a turn costs more because of what came before it in its session. Turns of long sessions alternate
// with turns of fresh ones, so that both meet the same process and the same database.
func (b *bench) longSessions(ctx context.Context, kind string) error {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	with := setup()
	with.ContextWindow = smallWindow
	s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
	if err != nil {
		return err
	}
	return s.end(ctx, s.compareTurns(ctx))
}

func (s *system) compareTurns(ctx context.Context) error {
	size := s.longSize()
	meter, err := s.newTurnMeter(ctx)
	if err != nil {
		return err
	}
	defer meter.close(ctx)
	long, err := openConversations(ctx, s.api, s.pairs)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := manyTurns(ctx, long, size.late-size.early); err != nil {
		return errors.Join(err, closeConversations(long))
	}
	s.progressf("P8: %d sessions of %d turns each in %.0f s", len(long), size.late-size.early, time.Since(begun).Seconds())
	var early, late []turnCost
	for pair, c := range long {
		fresh, err := openConversations(ctx, s.api, 1)
		if err != nil {
			return errors.Join(err, closeConversations(long))
		}
		arms := []struct {
			c    *conversation
			into *[]turnCost
		}{{fresh[0], &early}, {c, &late}}
		if pair%2 == 1 {
			arms[0], arms[1] = arms[1], arms[0]
		}
		for _, arm := range arms {
			cost, err := meter.turns(ctx, arm.c, size.early, size.turns)
			if err != nil {
				return errors.Join(err, closeConversations(fresh), closeConversations(long))
			}
			*arm.into = append(*arm.into, cost)
		}
		if err := closeConversations(fresh); err != nil {
			return errors.Join(err, closeConversations(long))
		}
		s.countConversations(armProduct, fresh)
	}
	if err := closeConversations(long); err != nil {
		return err
	}
	s.countConversations(armProduct, long)
	s.pagesThatGrow(early, late)
	return s.addLong(size, early, late)
}

// pagesThatGrow tells on standard error which statements looked at more pages in late turns than in early ones.
func (s *system) pagesThatGrow(early, late []turnCost) {
	grown := map[string][2]float64{}
	for i := range late {
		for statement := range late[i].pagesOf {
			was, is := grown[statement][0], grown[statement][1]
			grown[statement] = [2]float64{was + early[i].pagesOf[statement]/float64(len(late)), is + late[i].pagesOf[statement]/float64(len(late))}
		}
	}
	for _, statement := range slices.Sorted(maps.Keys(grown)) {
		if pages := grown[statement]; pages[1] > pages[0]+1 && pages[1] > pages[0]*1.15 {
			s.progressf("P8: pages per turn, early %.1f, late %.1f: %s", pages[0], pages[1], statement)
		}
	}
}

// addLong judges the costs of both ranges.
func (s *system) addLong(size longSize, early, late []turnCost) error {
	var foreign []float64
	for i := range early {
		// What the model was shown is told by what it counted.
		if a, b := early[i].prompt, late[i].prompt; a == 0 || math.Abs(b/a-1) > 0.02 {
			return fmt.Errorf("the model was shown %.0f tokens in early turns and %.0f in late ones: these are not the same turns", a, b)
		}
		foreign = append(foreign, early[i].foreign, late[i].foreign)
	}
	name := fmt.Sprintf("turns %d–%d against %d–%d of a session, ", size.late, size.late+size.turns, size.early, size.early+size.turns)
	note := fmt.Sprintf("the floor is turns %d–%d; the model is shown %.0f tokens", size.early, size.early+size.turns, early[0].prompt)
	for _, f := range []struct {
		what, unit, note string
		of               func(turnCost) float64
		needsPostgres    bool
	}{
		{"CPU", "ms", "of the product and its connections' processes; ", func(c turnCost) float64 { return c.cpu }, false},
		{"wall time", "ms", "", func(c turnCost) float64 { return c.wall }, false},
		{"bytes read", "KB", "by the product, from connections and files; ", func(c turnCost) float64 { return c.read / 1000 }, false},
		{"statements", "per turn", "", func(c turnCost) float64 { return c.statements }, true},
		{"pages that PostgreSQL looked at", "per turn", "of 8 KiB, most of them in memory; ", func(c turnCost) float64 { return c.pages }, true},
	} {
		if f.needsPostgres && s.kind != postgres {
			continue
		}
		var samples, floor, ratios []float64
		for i := range late {
			samples, floor = append(samples, f.of(late[i])), append(floor, f.of(early[i]))
			ratios = append(ratios, samples[i]/floor[i])
		}
		s.add(report.Figure{
			ID: "P8", Name: name + f.what, Unit: f.unit, Samples: samples, Floor: report.Median(floor), Ratios: ratios,
			Gate: report.AtMost(2), Target: report.AtMost(1.15), Foreign: report.Median(foreign), Note: f.note + note,
		})
	}
	return nil
}

// manyTurns runs so many turns in each of the sessions, one after the other in each, all sessions at once.
func manyTurns(ctx context.Context, conversations []*conversation, count int) error {
	errs := make([]error, len(conversations))
	var group sync.WaitGroup
	for i, c := range conversations {
		group.Go(func() {
			for range count {
				if _, errs[i] = c.turn(ctx, client.ToolTurn, time.Now()); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// turnCost is what turns cost in the mean. Wall and processor time are in milliseconds; prompt is how many tokens the model was
// shown; foreign is the share of the machine that other programs had.
type turnCost struct {
	wall, cpu, read, statements, pages, prompt, foreign float64
	// pagesOf is how many pages each statement looked at.
	pagesOf map[string]float64
}

// turnMeter tells what turns of one session cost.
type turnMeter struct {
	s    *system
	conn *pgx.Conn // nil on SQLite
}

func (s *system) newTurnMeter(ctx context.Context) (*turnMeter, error) {
	m := &turnMeter{s: s}
	if s.kind != postgres {
		return m, nil
	}
	var err error
	if m.conn, err = pgx.Connect(ctx, s.place.url); err != nil {
		return nil, err
	}
	if _, err := m.conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err != nil {
		m.close(ctx)
		return nil, fmt.Errorf("PostgreSQL's contrib extensions are needed: %w", err)
	}
	return m, nil
}

func (m *turnMeter) close(ctx context.Context) {
	if m.conn != nil {
		_ = m.conn.Close(ctx)
	}
}

// turns runs some turns that don't count, then those that do.
func (m *turnMeter) turns(ctx context.Context, c *conversation, before, count int) (turnCost, error) {
	var cost turnCost
	alone := []*conversation{c}
	if err := manyTurns(ctx, alone, before); err != nil {
		return cost, err
	}
	var prompt atomic.Int64
	c.watch(func(e client.Event) { prompt.Add(promptTokens(e)) })
	defer c.watch(nil)
	first, err := m.read(ctx)
	if err != nil {
		return cost, err
	}
	begun := time.Now()
	if err := manyTurns(ctx, alone, count); err != nil {
		return cost, err
	}
	took := time.Since(begun)
	last, err := m.readAgain(ctx)
	if err != nil {
		return cost, err
	}
	n := float64(count)
	pagesOf := map[string]float64{}
	for statement, pages := range last.pagesOf {
		pagesOf[statement] = float64(pages-first.pagesOf[statement]) / n
	}
	return turnCost{
		pagesOf: pagesOf,
		wall:    millis(took) / n, cpu: millis(first.cpuUntil(last)) / n, read: float64(last.read-first.read) / n,
		statements: float64(last.statements-first.statements) / n, pages: float64(last.pages-first.pages) / n,
		prompt: float64(prompt.Load()) / n, foreign: last.machine.foreign(first.machine, took),
	}, nil
}

// promptTokens is how many tokens the model was shown, as an event tells; 0 when it tells nothing of it.
func promptTokens(e client.Event) int64 {
	if e.Kind != "GENERATION_RECORDED" {
		return 0
	}
	var data struct {
		Usage struct{ InputTokens, CacheReadTokens, CacheWriteTokens int64 }
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return 0
	}
	return data.Usage.InputTokens + data.Usage.CacheReadTokens + data.Usage.CacheWriteTokens
}

// reading is what had been used at a moment.
type reading struct {
	cpu               map[int]time.Duration // by process
	machine           cpu
	read              int64
	statements, pages int64
	pagesOf           map[string]int64
}

// cpuUntil returns the processor time from one reading to a later one. Of a process that is new it is all that it has used; one that
// has ended in between is left out.
func (r reading) cpuUntil(later reading) time.Duration {
	var sum time.Duration
	for pid, used := range later.cpu {
		sum += used - r.cpu[pid]
	}
	return sum
}

// read reads before turns: first what reading itself would change.
func (m *turnMeter) read(ctx context.Context) (r reading, err error) {
	if err = m.askDatabase(ctx, &r); err == nil {
		err = m.askKernel(ctx, &r)
	}
	return r, err
}

// readAgain reads after turns, the other way round.
func (m *turnMeter) readAgain(ctx context.Context) (r reading, err error) {
	if err = m.askKernel(ctx, &r); err == nil {
		err = m.askDatabase(ctx, &r)
	}
	return r, err
}

func (m *turnMeter) askDatabase(ctx context.Context, r *reading) error {
	if m.conn == nil {
		return nil
	}
	rows, err := m.conn.Query(ctx, `SELECT calls, shared_blks_hit + shared_blks_read, queryid || ' ' || regexp_replace(left(query, 120), '\s+', ' ', 'g')
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `+notStatements)
	if err != nil {
		return err
	}
	r.pagesOf = map[string]int64{}
	var calls, pages int64
	var statement string
	_, err = pgx.ForEachRow(rows, []any{&calls, &pages, &statement}, func() error {
		r.statements, r.pages = r.statements+calls, r.pages+pages
		r.pagesOf[statement] += pages // once per role
		return nil
	})
	return err
}

func (m *turnMeter) askKernel(ctx context.Context, r *reading) (err error) {
	pid := m.s.product.PID()
	processes := []int{pid}
	if m.conn != nil {
		rows, err := m.conn.Query(ctx, `SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`)
		if err != nil {
			return err
		}
		backends, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		processes = append(processes, backends...)
	}
	r.cpu = map[int]time.Duration{}
	for _, p := range processes {
		if r.cpu[p], err = procs.CPUTime(p); err != nil {
			return err
		}
	}
	if r.read, err = procs.ReadBytes(pid); err != nil {
		return err
	}
	r.machine, err = m.s.cpu()
	return err
}
