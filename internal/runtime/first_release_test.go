package runtime

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// TestADatabaseOfTheFirstReleaseGoesOn brings a database to the newest schema that the first build has written, before there were waits, feeds
// or budgets: a session whose turns have ended, one whose turn was at work when the process was killed, with a message in its inbox and a turn
// behind it, and one whose turn no runner has taken yet. All of them go on, and the model is shown what was said before.
//
// testdata/first_release.jsonl has its rows.
func TestADatabaseOfTheFirstReleaseGoesOn(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		ctx := t.Context()
		if err := w.catalog.RefreshBuiltIns(ctx); err != nil {
			t.Fatal(err)
		}
		var sessions []models.Session
		var dead models.Runner
		err := store.CrossOrg(db.ReadAcross(ctx)).Order("created_at").Find(&sessions).Error
		if err == nil {
			err = db.ReadAcross(ctx).Take(&dead).Error
		}
		if err != nil || len(sessions) != 3 {
			t.Fatalf("there are %d sessions: %v", len(sessions), err)
		}
		finished, atWork, inLine := sessions[0].ID, sessions[1].ID, sessions[2].ID
		w.org = sessions[0].OrgID
		w.by = &auth.Principal{OrgID: w.org, Role: models.RoleOwner, Permissions: auth.RolePermissions(models.RoleOwner, false)}
		n := w.start()
		n.puppet.on(echoing)
		if _, err := w.queue.TakeOver(ctx, dead.ID); err != nil {
			t.Fatal(err)
		}
		n.engine.Wake()
		n.send(finished, "go on")
		for _, of := range []struct {
			session models.SessionID
			said    []string // by users and the model
		}{
			{finished, []string{"{", "I will write it. ", "", "It is written.", "and again", "Again.", "go on", "ok"}},
			{atWork, []string{"{", "ok", "are you there?", "ok", "later", "ok"}},
			{inLine, []string{"hello", "ok"}},
		} {
			var list []models.Event
			w.until("the session comes to rest", func() bool {
				list = w.events(of.session)
				s := w.session(of.session)
				return s.CurrentTurnID == nil && s.LastSequence == int64(len(list))
			})
			if err := events.CheckLog(list); err != nil {
				t.Errorf("the log is wrong: %v\n%s", err, kinds(list))
			}
			for _, turn := range w.turns(of.session) {
				if turn.Status != models.TurnCompleted {
					t.Errorf("turn %s is %s: %+v", turn.ID, turn.Status, turn.Error)
				}
			}
			if said := w.said(of.session); !slices.EqualFunc(said, of.said, strings.HasPrefix) {
				t.Errorf("what was said is %q, want %q", said, of.said)
			}
			w.paired(of.session)
		}
		w.counted()
		if shown := n.shown("go on"); len(shown) != 7 {
			t.Errorf("the model was shown %+v", shown)
		}
		if _, content, err := n.sessions.File(ctx, w.org, finished, "/workspace/a.txt"); err != nil || string(content) != "hello" {
			t.Errorf("the file has %q: %v", content, err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		at := "sqlite:" + filepath.Join(t.TempDir(), "ostler.db")
		db := opened(t, store.Config{URL: at})
		firstRelease(t, db.Writer, goose.DialectSQLite3, "sqlite", liteRow)
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, db)
	})
	t.Run("postgres", func(t *testing.T) {
		at := storetest.PostgresURL(t)
		owner := opened(t, store.Config{URL: at})
		conn := stdlib.OpenDBFromPool(owner.Pool)
		defer func() { _ = conn.Close() }()
		if _, err := conn.ExecContext(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC"); err != nil {
			t.Fatal(err)
		}
		firstRelease(t, conn, goose.DialectPostgres, "postgres", postgresRow)
		if err := owner.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := owner.SecureRows(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		test(t, opened(t, store.Config{URL: at, RowSecurity: true}))
	})
}

// said returns the text of each message of a session that isn't a tool's.
func (w *world) said(session models.SessionID) (list []string) {
	for _, m := range w.messages(session) {
		text := ""
		for _, p := range m.Content {
			text += p.Text
		}
		list = append(list, text)
	}
	return list
}

// shown returns the conversation of the call of the model whose newest message says something.
func (n *node) shown(newest string) []llm.Message {
	for _, r := range n.puppet.requests() {
		if m := r.Messages[len(r.Messages)-1]; m.Parts[0].Text == newest {
			return r.Messages
		}
	}
	return nil
}

func opened(t *testing.T, cfg store.Config) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// firstRelease gives an empty database the first schema and its rows.
func firstRelease(t *testing.T, db *sql.DB, dialect goose.Dialect, dir string, insert func(context.Context, *sql.Tx, string, json.RawMessage) error) {
	t.Helper()
	ctx := t.Context()
	p, err := goose.NewProvider(dialect, db, os.DirFS("../store/migrations/"+dir), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.UpTo(ctx, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("testdata/first_release.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(rows) {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for table, values := range row {
			if err := insert(ctx, tx, table, values); err != nil {
				t.Fatalf("insert %s: %v", line, err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func postgresRow(ctx context.Context, tx *sql.Tx, table string, row json.RawMessage) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(row, &values); err != nil {
		return err
	}
	names := strings.Join(slices.Sorted(maps.Keys(values)), ", ")
	_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM json_populate_record(NULL::%[1]s, $1)", table, names), string(row))
	return err
}

// liteRow inserts a row as SQLite has it: ids and bytes as blobs, JSON as text.
func liteRow(ctx context.Context, tx *sql.Tx, table string, row json.RawMessage) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(row, &values); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(values))
	var args []any
	for _, name := range names {
		arg, err := liteValue(values[name])
		if err != nil {
			return err
		}
		args = append(args, arg)
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1)), args...)
	return err
}

func liteValue(v json.RawMessage) (any, error) {
	if v[0] == '{' || v[0] == '[' {
		return string(v), nil
	}
	if v[0] != '"' {
		return strconv.ParseInt(string(v), 10, 64)
	}
	var text string
	if err := json.Unmarshal(v, &text); err != nil {
		return nil, err
	}
	if id, err := uuid.Parse(text); err == nil && len(text) == 36 {
		return id[:], nil
	}
	if digits, ok := strings.CutPrefix(text, `\x`); ok {
		return hex.DecodeString(digits)
	}
	return text, nil
}
