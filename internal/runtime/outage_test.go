package runtime

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// TestPersistWhileConnectionsBreak has one connection after the other end under a read, while the database answers whoever asks in between:
// as often as that may be, it is no failure of the turn.
func TestPersistWhileConnectionsBreak(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.Postgres(t))
	r := &turnRun{e: w.start().engine}
	tries := 0
	err := r.persist(t.Context(), "read", func() error {
		tries++
		conn, err := w.db.Pool.Acquire(t.Context())
		if err != nil {
			return err
		}
		defer conn.Release()
		if tries <= maxReads+1 {
			if _, err := storetest.Exec(t.Context(), w.db, "SELECT pg_terminate_backend(?)", conn.Conn().PgConn().PID()); err != nil {
				t.Fatal(err)
			}
		}
		_, err = conn.Exec(t.Context(), "SELECT 1")
		return err
	})
	if err != nil || tries != maxReads+2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// TestADriverReadsWhileTheDatabaseIsAway takes the database away from a driver that reads a file of the session: the call waits for what the
// database says, and goes on as if nothing had been.
func TestADriverReadsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.Postgres(t))
	failed, asked := make(chan struct{}, 1), make(chan error, 1)
	n := w.start(func(c *Config) {
		c.Logger = slog.New(heard{slog.DiscardHandler, "a read failed and is retried", failed})
	})
	s := w.newSession(n)
	n.write(s, "/workspace/some", "text")
	n.puppet.on(func(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
		back, read := w.away(), make(chan error, 1)
		go func() {
			_, err := req.ReadFile(ctx, "/workspace/none")
			read <- err
		}()
		var err error
		select {
		case err = <-read:
			back()
		case <-failed:
			back()
			err = <-read
		}
		asked <- err
		return answer("", textPart("done")), nil
	})
	turn := n.send(s, "go")
	if err := <-asked; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there reads as %v", err)
	}
	w.eventually("the turn has completed", func() bool {
		var status models.TurnStatus
		err := w.db.QueryRow(t.Context(), w.org, "SELECT status FROM turns WHERE org_id = ? AND id = ?", w.org[:], turn[:]).Scan(&status)
		return err == nil && status == models.TurnCompleted // this pool has lost its connections, too
	})
	w.db.Pool.Reset() // those that it has not missed yet: the engine stops with one statement, and without a second try
}

// away lets nobody into the world's database, who may be in it already, until back is called.
func (w *world) away() (back func()) {
	ctx := context.Background()
	name := w.db.Pool.Config().ConnConfig.Database
	admin, err := pgx.Connect(ctx, os.Getenv("OSTLER_TEST_POSTGRES_URL"))
	if err != nil {
		w.t.Fatal(err)
	}
	run := func(statement string, args ...any) {
		if _, err := admin.Exec(ctx, statement, args...); err != nil {
			w.t.Error(err)
		}
	}
	run("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
	run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
	return func() {
		run("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
		if err := admin.Close(ctx); err != nil {
			w.t.Error(err)
		}
	}
}
