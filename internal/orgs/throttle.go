package orgs

import (
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
)

// How sign-ins are slowed down. The first attempts are free; then each one doubles the wait before the next, from one second up to a
// limit. What is counted is an account from one network, so that nobody is kept out of their own by guesses from elsewhere. A network may be
// shared by many people, so it gets more for all accounts, and so does an account from all networks, which known ones don't wait for.
const (
	freePerPair       = 5
	freePerAccount    = 20
	freePerNetwork    = 20
	maxWaitPerAccount = time.Minute
	maxWaitPerNetwork = 15 * time.Minute
	forgetAfter       = time.Hour
	throttleEntries   = 20_000
)

// source is where an attempt comes from.
type source struct {
	address string
	// browser reports that the browser has signed in to the account before, and network that somebody has from the network of the address.
	browser, network bool
}

// throttle counts attempts per account and network, per account, and per network. It lives in the process: with several nodes an attacker
// has as many tries as there are nodes. It is bounded; under a flood of accounts and networks the oldest are forgotten.
type throttle struct {
	freePerAccount    int
	maxWaitPerAccount time.Duration

	mu                        sync.Mutex
	pairs, accounts, networks *lru.Cache[string, *attempts]
}

type attempts struct {
	count        int
	last         time.Time
	blockedUntil time.Time
}

func newThrottle() (*throttle, error) {
	t := &throttle{freePerAccount: freePerAccount, maxWaitPerAccount: maxWaitPerAccount}
	for _, c := range []**lru.Cache[string, *attempts]{&t.pairs, &t.accounts, &t.networks} {
		var err error
		if *c, err = lru.New[string, *attempts](throttleEntries); err != nil {
			return nil, fmt.Errorf("make the throttle: %w", err)
		}
	}
	return t, nil
}

// attempt is one counted attempt. It counts as failed from its start, so that many at once can't slip through.
type attempt struct {
	throttle      *throttle
	account, pair string
	parts         []counted
}

type counted struct {
	in                *attempts
	free              int
	limit             time.Duration
	before, blockedBy time.Time
}

// begin counts an attempt. While there is a wait for it, it returns fault.RateLimited and counts nothing; then byAccount reports whether
// only the account as a whole has to wait, which doesn't bind a network or a browser that is known.
func (t *throttle) begin(now time.Time, account string, from source) (a *attempt, byAccount bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	network := auth.Network(from.address)
	a = &attempt{throttle: t, account: account, pair: account + "\x00" + network}
	if from.browser {
		a.pair = account + "\x00\x00"
	} else {
		a.parts = append(a.parts, counted{in: entry(t.networks, network, now), free: freePerNetwork, limit: maxWaitPerNetwork})
	}
	a.parts = append(a.parts, counted{in: entry(t.pairs, a.pair, now), free: freePerPair, limit: t.maxWaitPerAccount})
	if err := a.wait(now); err != nil {
		return nil, false, err
	}
	if !from.browser && !from.network {
		a.parts = append(a.parts, counted{in: entry(t.accounts, account, now), free: t.freePerAccount, limit: t.maxWaitPerAccount})
		if err := a.wait(now); err != nil {
			return nil, true, err
		}
	}
	for i := range a.parts {
		a.parts[i].add(now)
	}
	return a, false, nil
}

// wait is fault.RateLimited as long as something of the attempt has to wait.
func (a *attempt) wait(now time.Time) error {
	var wait time.Duration
	for _, c := range a.parts {
		wait = max(wait, c.in.blockedUntil.Sub(now))
	}
	if wait <= 0 {
		return nil
	}
	f := fault.New(fault.RateLimited, "Too many attempts. Wait and try again.")
	f.RetryAfterSeconds = int((wait + time.Second - 1) / time.Second)
	return f
}

// succeeded forgives the account everything, here and as a whole, and the network this one attempt: who has one account must not get free
// guesses at others.
func (a *attempt) succeeded() {
	a.undo()
	a.throttle.mu.Lock()
	defer a.throttle.mu.Unlock()
	a.throttle.accounts.Remove(a.account)
	a.throttle.pairs.Remove(a.pair)
}

// undo takes the attempt back, as when the server failed and not the caller. There is nothing to take back of one that was refused, nil.
func (a *attempt) undo() {
	if a == nil {
		return
	}
	a.throttle.mu.Lock()
	defer a.throttle.mu.Unlock()
	for _, c := range a.parts {
		c.in.count = max(0, c.in.count-1)
		if c.in.blockedUntil.Equal(c.blockedBy) {
			c.in.blockedUntil = c.before
		}
	}
}

func entry(of *lru.Cache[string, *attempts], key string, now time.Time) *attempts {
	if a, ok := of.Get(key); ok && now.Sub(a.last) < forgetAfter {
		return a
	}
	a := &attempts{last: now}
	of.Add(key, a)
	return a
}

func (c *counted) add(now time.Time) {
	a := c.in
	c.before = a.blockedUntil
	a.count++
	a.last = now
	if over := a.count - c.free; over >= 0 {
		wait := c.limit
		if over < 20 {
			wait = min(c.limit, time.Second<<over)
		}
		a.blockedUntil = now.Add(wait)
	}
	c.blockedBy = a.blockedUntil
}
