package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	checkpointInterval = 50 * time.Millisecond
	// checkpointPages is how much of the write-ahead log is worth a checkpoint, in pages of 4 KiB.
	checkpointPages = 250
	// checkpointPasses is how often in a row one is made: each moves what was written during the one before, and the log begins anew
	// when nothing was.
	checkpointPasses = 6
)

// checkpoints moves SQLite's write-ahead log into the database on a connection of its own. Left to the connection that writes, it would
// be part of some commit, which would take many times as long as others, and so would all that wait for it. This one keeps nobody
// waiting: SQLite calls it passive.
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
	if ticks == nil {
		t := time.NewTicker(checkpointInterval)
		defer t.Stop()
		ticks = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		// One that fails is made up for by the next, or by the connection that writes: its limit is higher.
		if left, err := c.ask(ctx, "NOOP"); err != nil || left < checkpointPages {
			continue
		}
		for range checkpointPasses {
			if left, err := c.ask(ctx, "PASSIVE"); err != nil || left == 0 {
				break
			}
			if left, err := c.ask(ctx, "NOOP"); err != nil || left == 0 {
				break
			}
		}
	}
}

// ask makes a checkpoint and gives how many pages of the log are left to be moved.
func (c *checkpoints) ask(ctx context.Context, mode string) (left int, err error) {
	var busy, pages, moved int
	if err := c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &moved); err != nil {
		return 0, fmt.Errorf("checkpoint SQLite's log: %w", err)
	}
	return pages - moved, nil
}
