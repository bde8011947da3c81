package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// The pause between two attempts at a read grows from one to the other.
	minReadPause = 10 * time.Millisecond
	maxReadPause = time.Second
	// maxReads is how often a read may fail, by what is no outage, although the database answers: then it is not the database.
	maxReads = 5
)

// persist repeats a read until the database answers. That a database was restarted, or had no connection to spare, is no
// failure of the turn: the lease is kept meanwhile, or lost to somebody who is better off.
func (r *turnRun) persist(ctx context.Context, what string, read func() error) error {
	return r.e.persist(ctx, r.turn.ID, what, read)
}

// persist is a turn's, for its calls too: what the turn's row is by now is the turn's own business.
func (e *Engine) persist(ctx context.Context, turn models.TurnID, what string, read func() error) error {
	answered := 0
	for wait := minReadPause; ; wait = min(2*wait, maxReadPause) {
		err := read()
		if err == nil || lasting(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
		// That the database answers somebody else proves nothing while connections break, or while there are none to spare: the next one
		// may be as bad.
		if !store.IsOutage(err) && e.rows.ping(ctx) == nil {
			if answered++; answered == maxReads {
				return err
			}
		}
		e.cfg.Logger.Warn("a read failed and is retried", "what", what, "turn", turn, "error", err)
		if !pause(ctx, wait) {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

// lasting reports whether an error would come again.
func lasting(err error) bool {
	var gone *catalog.DependencyError
	var model *catalog.ModelError
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &gone) || errors.As(err, &model) || errors.As(err, &syntax) || errors.As(err, &shape) || store.IsData(err)
}
