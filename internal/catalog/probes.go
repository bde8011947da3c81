package catalog

import (
	"math"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxProbes is how often an organization may ask providers for their models in a probeWindow, on one node.
	maxProbes   = 20
	probeWindow = time.Minute
	// maxProbesAtOnce is how many of them may be under way.
	maxProbesAtOnce = 4
	// probeTimeout is how long a provider may take. It is below the limit of an operation, so that its end can be told.
	probeTimeout = 8 * time.Second
)

// probes bounds how often each organization makes the server ask an address that it chose, so that nobody can scan with it. What
// it remembers is forgotten a window later.
type probes struct {
	clock clock.Clock

	mu      sync.Mutex
	orgs    map[models.OrgID]*probeCount
	cleaned time.Time
}

type probeCount struct {
	// begun is when the present window did; n counts the probes that began in it.
	begun   time.Time
	n       int
	running int
}

func newProbes(c clock.Clock) *probes {
	return &probes{clock: c, orgs: map[models.OrgID]*probeCount{}, cleaned: c.Now()}
}

// begin lets one probe begin, or says when to try again. done must be called when it has ended.
func (p *probes) begin(org models.OrgID) (done func(), err error) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clean(now)
	c := p.orgs[org]
	if c == nil {
		c = &probeCount{begun: now}
		p.orgs[org] = c
	}
	if over(c.begun, now) {
		c.begun, c.n = now, 0
	}
	if c.running >= maxProbesAtOnce {
		return nil, limited("Your organization is already testing %d providers. Wait until a test has ended.", maxProbesAtOnce, time.Second)
	}
	if c.n >= maxProbes {
		return nil, limited("Your organization has tested providers %d times within a minute. Try again later.", maxProbes, c.begun.Add(probeWindow).Sub(now))
	}
	c.n++
	c.running++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.running--
	}, nil
}

// clean drops the organizations that have not asked for a window.
func (p *probes) clean(now time.Time) {
	if !over(p.cleaned, now) {
		return
	}
	p.cleaned = now
	for org, c := range p.orgs {
		if c.running == 0 && over(c.begun, now) {
			delete(p.orgs, org)
		}
	}
}

// over reports whether a window has passed. A clock that was set back ends it as well.
func over(begun, now time.Time) bool {
	age := now.Sub(begun)
	return age < 0 || age >= probeWindow
}

func limited(format string, limit int, wait time.Duration) error {
	f := fault.New(fault.RateLimited, format, limit)
	f.RetryAfterSeconds = max(1, int(math.Ceil(wait.Seconds())))
	return f
}
