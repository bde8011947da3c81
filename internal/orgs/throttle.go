package orgs

import (
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
)

// How sign-ins are slowed down. The first attempts are free; then each one doubles the wait before the next, from one
// second up to a limit. An address may be shared by many people, so it gets more; the wait of an account stays short
// enough that nobody is kept out of their own for long by somebody else's guesses.
const (
	freePerAccount    = 5
	freePerAddress    = 20
	maxWaitPerAccount = time.Minute
	maxWaitPerAddress = 15 * time.Minute
	forgetAfter       = time.Hour
	throttleEntries   = 20_000
)

// throttle counts attempts per account and per address. It lives in the process: with several nodes an attacker has as
// many tries as there are nodes. It is bounded; under a flood of accounts and addresses the oldest are forgotten.
type throttle struct {
	maxWaitPerAccount time.Duration

	mu        sync.Mutex
	accounts  *lru.Cache[string, *attempts]
	addresses *lru.Cache[string, *attempts]
}

type attempts struct {
	count        int
	last         time.Time
	blockedUntil time.Time
}

func newThrottle() (*throttle, error) {
	accounts, err := lru.New[string, *attempts](throttleEntries)
	if err != nil {
		return nil, fmt.Errorf("make the throttle: %w", err)
	}
	addresses, err := lru.New[string, *attempts](throttleEntries)
	if err != nil {
		return nil, fmt.Errorf("make the throttle: %w", err)
	}
	return &throttle{maxWaitPerAccount: maxWaitPerAccount, accounts: accounts, addresses: addresses}, nil
}

// attempt is one counted attempt. It counts as failed from its start, so that many at once can't slip through.
type attempt struct {
	throttle *throttle
	account  string
	parts    []counted
}

type counted struct {
	in                *attempts
	before, blockedBy time.Time
}

// begin counts an attempt. While the account or the address has to wait it gives fault.RateLimited and counts nothing.
func (t *throttle) begin(now time.Time, account, address string) (*attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	byAccount := entry(t.accounts, account, now)
	byAddress := entry(t.addresses, auth.Network(address), now)
	until := byAccount.blockedUntil
	if byAddress.blockedUntil.After(until) {
		until = byAddress.blockedUntil
	}
	if wait := until.Sub(now); wait > 0 {
		f := fault.New(fault.RateLimited, "Too many attempts: wait and try again.")
		f.RetryAfterSeconds = int((wait + time.Second - 1) / time.Second)
		return nil, f
	}
	return &attempt{throttle: t, account: account, parts: []counted{
		byAccount.add(now, freePerAccount, t.maxWaitPerAccount),
		byAddress.add(now, freePerAddress, maxWaitPerAddress),
	}}, nil
}

// succeeded forgives the account everything and the address this one attempt: who has one account must not get free
// guesses at others.
func (a *attempt) succeeded() {
	a.undo()
	a.throttle.mu.Lock()
	defer a.throttle.mu.Unlock()
	a.throttle.accounts.Remove(a.account)
}

// undo takes the attempt back, as when the server failed and not the caller.
func (a *attempt) undo() {
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

func (a *attempts) add(now time.Time, free int, limit time.Duration) counted {
	c := counted{in: a, before: a.blockedUntil}
	a.count++
	a.last = now
	if over := a.count - free; over >= 0 {
		wait := limit
		if over < 20 {
			wait = min(limit, time.Second<<over)
		}
		a.blockedUntil = now.Add(wait)
	}
	c.blockedBy = a.blockedUntil
	return c
}
