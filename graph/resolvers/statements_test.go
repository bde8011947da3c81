package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5" //nolint:depguard // these tests look at what goes to the database
	"gorm.io/gorm"            //nolint:depguard // these tests look at what goes to the database

	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
)

// perParent are the lists that still take statements for each object that they belong to. Nothing may be added: a list that is asked
// of many objects at once is read for all of them together. Whoever mends one takes it out.
var perParent = map[string]bool{
	"Session.events": true, "Session.files": true, "Session.file": true, "Session.effectiveConfig": true,
	// A conversation is read for each, and the price is such that one asks for few.
	"Turn.modelView": true,
}

// empty are the fields that the world of the test has nothing for, each with its reason.
var empty = map[string]string{
	"Viewer.apiKey": "a person asks",
}

// TestStatementsDoNotGrowWithAnyList asks for every field of every object that a list of the schema can have in it, in a small
// world and in a large one, with as many statements in both. The lists come from the schema: for a new one the world has nothing
// at first, which fails as well.
func TestStatementsDoNotGrowWithAnyList(t *testing.T) {
	for _, open := range []func(t *testing.T) (*store.DB, *statementLog){
		func(t *testing.T) (*store.DB, *statementLog) {
			log := &statementLog{}
			db := storetest.SQLite(t)
			log.hear(t, db)
			return db, log
		},
		func(t *testing.T) (*store.DB, *statementLog) {
			log := &statementLog{}
			return storetest.Traced(t, log), log
		},
	} {
		var small, large map[string]asked
		db, log := open(t)
		t.Run(string(db.Dialect), func(t *testing.T) {
			small = askAll(newWorld(t, db, 2), log)
			db, log := open(t)
			large = askAll(newWorld(t, db, 4), log) // a loader takes 500 rows in a statement: there are fewer of everything
			if len(small) < 60 {
				t.Errorf("only %d questions come from the schema", len(small))
			}
			mended := maps.Clone(perParent)
			if db.Dialect == store.SQLite {
				mended = nil // statements that are not GORM's can't be heard there; those of PostgreSQL are all
			}
			for _, name := range slices.Sorted(maps.Keys(small)) {
				few, many := small[name], large[name]
				grows := len(many.statements) > len(few.statements)
				switch {
				case few.err != nil || many.err != nil:
					t.Errorf("%s: %v, %v", name, few.err, many.err)
				case many.parents <= few.parents:
					t.Errorf("%s: the world has no list of %s: let newWorld make some", name, few.owner)
				case empty[few.field] == "" && (few.answers == 0 || many.answers == 0):
					t.Errorf("%s: the world has nothing for %s: let newWorld make some", name, few.field)
				case perParent[few.field]:
					if grows {
						delete(mended, few.field)
					}
					if each := float64(len(many.statements)-len(few.statements)) / float64(many.parents-few.parents); each > 8 {
						t.Errorf("%s: %.1f statements for each object", name, each)
					}
				case grows:
					t.Errorf("%s takes %d statements for %d objects and %d for %d:\n%s\n%s", name, len(few.statements), few.parents,
						len(many.statements), many.parents, few.query, strings.Join(slices.Compact(many.statements), "\n"))
				}
			}
			for field := range mended {
				t.Errorf("%s no longer takes statements for each object: take it out of perParent", field)
			}
		})
	}
}

// asked is what became of a question.
type asked struct {
	query, owner, field string
	// parents is how many objects the field was asked of, answers how many of them had something.
	parents, answers int
	statements       []string
	err              error
}

func askAll(w *world, log *statementLog) map[string]asked {
	w.t.Helper()
	out := map[string]asked{}
	for _, q := range questions(w.session) {
		log.take()
		data, err := w.run(q.text(), nil)
		result := asked{query: q.text(), owner: q.owner, field: q.owner + "." + q.field, statements: log.take(), err: err}
		if err == nil {
			var v any
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				w.t.Fatal(err)
			}
			result.parents, result.answers = q.count(v, 0)
		}
		out[q.name()] = result
	}
	return out
}

// statementLog keeps the statements that go to the database, but for those around a transaction.
type statementLog struct {
	mu   sync.Mutex
	list []string
}

func (l *statementLog) add(sql string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains([]string{"begin", "commit", "rollback", "discard plans"}, strings.ToLower(sql)) && !strings.HasPrefix(sql, "SELECT set_config(") {
		l.list = append(l.list, sql)
	}
}

func (l *statementLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// hear listens to GORM, for a database that has no tracer.
func (l *statementLog) hear(t *testing.T, db *store.DB) {
	t.Helper()
	note := func(tx *gorm.DB) {
		if !tx.DryRun { // a statement inside of another one is not run
			l.add(tx.Statement.SQL.String())
		}
	}
	cb := db.ReadAcross(t.Context()).Callback()
	for _, err := range []error{cb.Query().After("gorm:query").Register("test:hear", note), cb.Row().After("gorm:row").Register("test:hear", note)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (l *statementLog) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	l.add(q.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*statementLog) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (*statementLog) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (l *statementLog) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	l.add(q.SQL)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (*statementLog) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TestTheQuestionsSeeGrowth has a question whose statements grow, which must be told from one whose don't.
func TestTheQuestionsSeeGrowth(t *testing.T) {
	log := &statementLog{}
	db := storetest.SQLite(t)
	log.hear(t, db)
	a := newWorld(t, db, 3)
	took := func(sessions int) int {
		log.take()
		a.get(fmt.Sprintf(`{ sessions(first: %d) { nodes { files { path } } } }`, sessions), nil)
		return len(log.take())
	}
	if few, many := took(2), took(6); many < few+4 {
		t.Errorf("%d statements for two sessions, %d for six: a statement for each was not seen", few, many)
	}
}
