package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	// checkpointInterval is how often the log is looked at while it changes, checkpointRest while it does not.
	checkpointInterval = 50 * time.Millisecond
	checkpointRest     = time.Second
	// checkpointPages is how much of the write-ahead log is worth a checkpoint, in pages of 4 KiB.
	checkpointPages = 250
)

// checkpoints moves SQLite's write-ahead log into the database on a connection of its own. Left to the connection that writes, it would
// be part of some commit, which would take many times as long as others, and so would all that wait for it. This one keeps nobody
// waiting: SQLite calls it passive. The log begins anew after a checkpoint during which nothing was written, or when the connection that
// writes has to make one at its own, higher limit: then little is left to be moved.
type checkpoints struct {
	conn *sql.DB
	stop context.CancelFunc
	done chan struct{}
}

func startCheckpoints(conn *sql.DB, ticks <-chan time.Time) *checkpoints {
	conn.SetMaxOpenConns(1)
	ctx, stop := context.WithCancel(context.Background())
	c := &checkpoints{conn: conn, stop: stop, done: make(chan struct{})}
	go c.run(ctx, ticks)
	return c
}

// close ends them, and their connection.
func (c *checkpoints) close() error {
	c.stop()
	<-c.done
	return c.conn.Close()
}

func (c *checkpoints) run(ctx context.Context, ticks <-chan time.Time) {
	defer close(c.done)
	next := time.NewTimer(checkpointRest)
	defer next.Stop()
	if ticks == nil {
		ticks = next.C
	}
	last := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		pages, left, err := c.ask(ctx, "NOOP")
		if err == nil && left >= checkpointPages {
			_, _, err = c.ask(ctx, "PASSIVE")
		}
		// What fails is made up for by the next one, or by the connection that writes.
		if err != nil || pages == last {
			next.Reset(checkpointRest)
		} else {
			next.Reset(checkpointInterval)
		}
		last = pages
	}
}

// ask makes a checkpoint and returns how many pages the log has, and how many of them are left to be moved.
func (c *checkpoints) ask(ctx context.Context, mode string) (pages, left int, err error) {
	var busy, moved int
	if err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &moved); err != nil {
		return 0, 0, fmt.Errorf("checkpoint SQLite's log: %w", err)
	}
	return pages, pages - moved, nil
}
