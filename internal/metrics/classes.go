package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// class says how much load an organization makes: how many of its turns wait, as of the newest look at the queue, or run in this
// process. A label for each organization would be a series for each, and would show everybody's load to whoever reads the metrics.
type class string

const (
	light  class = "light"
	medium class = "medium"
	heavy  class = "heavy"

	mediumLoad = 10
	heavyLoad  = 100
)

var allClasses = []class{light, medium, heavy}

func classOf(load int) class {
	switch {
	case load < mediumLoad:
		return light
	case load < heavyLoad:
		return medium
	}
	return heavy
}

// Backlog is a bounded look at the queue.
type Backlog struct {
	// Waiting is how many turns of each organization are ready and wait for a runner.
	Waiting map[models.OrgID]int
	// Complete is true when there are no others.
	Complete bool
}

const (
	// backlogAge is how old a look at the queue may be, and backlogTimeout how long one may take.
	backlogAge     = 10 * time.Second
	backlogTimeout = 2 * time.Second
)

// classes knows the newest look at the queue.
type classes struct {
	look func(ctx context.Context) (Backlog, error)
	now  func() time.Time

	newest atomic.Pointer[Backlog]

	// mu is held for a look: whoever asks meanwhile gets what is known then.
	mu    sync.Mutex
	asked time.Time
}

func (c *classes) of(org models.OrgID, running int) class {
	if b := c.newest.Load(); b != nil {
		running += b.Waiting[org]
	}
	return classOf(running)
}

// refresh looks at the queue when the newest look is too old. After a failure nothing is known.
func (c *classes) refresh(ctx context.Context) {
	if c.look == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if !c.asked.IsZero() && now.Sub(c.asked) < backlogAge {
		return
	}
	c.asked = now
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backlogTimeout)
	defer cancel()
	b, err := c.look(ctx)
	if err != nil {
		c.newest.Store(nil)
		return
	}
	c.newest.Store(&b)
}
