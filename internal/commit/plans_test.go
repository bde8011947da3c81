package commit

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

var (
	parameter    = regexp.MustCompile(`\$(\d+)`)
	fromEndToEnd = regexp.MustCompile(`Seq Scan on (\w+)`)
	indexScan    = regexp.MustCompile(`Index (?:Only )?Scan (?:using|on) (\w+)`)
)

// A plan is made once per connection, from whatever the statistics say by then, and kept. So it must be the right one for
// large tables at any time: by all columns of an index, from no more of an organization than what was asked for.
//
// Rules: P19.
func TestPlansFindRowsByTheirKeys(t *testing.T) {
	w := onPostgres(t)
	l := newLine(t, w)
	c := w.over(l)
	var seen []string
	l.onQuery = func(sql string) { seen = append(seen, sql) }
	prepare := func(n int) (cmds []Command) {
		for range n {
			s, lease := w.working()
			w.do(w.send(s, newMessage()))
			step := w.step(s, lease).file(FileNeed{Path: "/a", Subtree: true})
			f := w.fork(w.session(), newID(), 0)
			f.needs.Events = &EventNeed{Kinds: []models.EventKind{models.EventFileWritten}}
			step.needs.Budgets = true
			cmds = append(cmds, f, step, w.answered(s, s.String(), newMessage(), never), w.end(s, lease))
		}
		return cmds
	}
	for _, state := range []struct {
		name    string
		analyze bool
		sizes   []int
	}{
		{"empty", false, []int{1}},
		{"small, without statistics", false, []int{40}},
		{"small, with statistics", true, []int{1, 40}},
	} {
		if state.analyze {
			w.exec("ANALYZE")
		}
		for _, n := range state.sizes {
			cmds := prepare(n)
			l.mu.Lock()
			seen = nil
			l.mu.Unlock()
			must(t, batch(c, cmds...))
			l.mu.Lock()
			explained := slices.Clone(seen)
			l.mu.Unlock()
			for _, q := range explained {
				w.checkPlan(state.name, q)
			}
			if len(explained) < 10 {
				t.Errorf("%s: only %d statements were seen", state.name, len(explained))
			}
		}
	}
}

// checkPlan looks at the plan that a statement gets for any parameters.
func (w *world) checkPlan(state, sql string) {
	w.t.Helper()
	ctx := context.Background()
	params := 0
	for _, m := range parameter.FindAllStringSubmatch(sql, -1) {
		n, _ := strconv.Atoi(m[1])
		params = max(params, n)
	}
	if params == 0 {
		return
	}
	tx, err := w.db.Commits.Begin(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var lines []string
	for _, s := range []string{
		"PREPARE q AS " + sql, "EXPLAIN EXECUTE q(" + strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ") + ")", "DEALLOCATE q",
	} {
		results, err := tx.Conn().PgConn().Exec(ctx, s).ReadAll()
		if err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
		if strings.HasPrefix(s, "EXPLAIN") {
			for _, row := range results[0].Rows {
				lines = append(lines, string(row[0]))
			}
		}
	}
	plan := strings.Join(lines, "\n")
	if m := fromEndToEnd.FindStringSubmatch(plan); m != nil {
		w.t.Errorf("%s: %s is read from end to end:\n%s\n%s", state, m[1], sql, plan)
	}
	for i, line := range lines {
		if !indexScan.MatchString(line) || strings.Contains(line, "orgs_pkey") { // whose one column is all of it
			continue
		}
		if i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond:") || strings.Count(lines[i+1], " AND ") == 0 {
			w.t.Errorf("%s: an index is read by less than two columns:\n%s\n%s", state, sql, plan)
		}
	}
}
