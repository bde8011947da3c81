package store

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The log is moved beside the commits, and begins anew when all of it was: however much is written, the file stays as it was.
func TestTheLogIsMovedBesideTheCommits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	open := func() *sql.DB {
		db, err := sql.Open("sqlite", "file:"+path+"?"+url.Values{"_pragma": {"journal_mode(WAL)", "wal_autocheckpoint(0)"}}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	writer := open()
	defer func() { _ = writer.Close() }()
	writer.SetMaxOpenConns(1)
	write := func(sql string) {
		t.Helper()
		if _, err := writer.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	write("CREATE TABLE t (x)")
	ticks := make(chan time.Time)
	c := startCheckpoints(open(), ticks)
	round := func(rows int) int64 {
		t.Helper()
		for range rows {
			write("INSERT INTO t VALUES (randomblob(3000))")
		}
		ticks <- time.Time{}
		ticks <- time.Time{} // it is taken when the first one was seen to
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	left := func() int {
		t.Helper()
		_, left, err := c.ask(t.Context(), "NOOP")
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	round(10)
	if left() == 0 {
		t.Error("a few pages were worth a checkpoint")
	}
	first := round(checkpointPages)
	if n := left(); n != 0 {
		t.Errorf("%d pages are left in the log", n)
	}
	for range 3 {
		if again := round(checkpointPages / 4); again > first {
			t.Errorf("the log has grown from %d to %d bytes", first, again)
		}
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	var n int
	if err := writer.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 10+checkpointPages+3*(checkpointPages/4) {
		t.Errorf("there are %d rows, %v", n, err)
	}
}
