package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// Staleness is how old what a turn runs with can be, when another process has changed the catalog.
	Staleness = time.Second

	// maxEntries and maxCacheBytes bound the cache. A usual entry takes a few kilobytes, but prompts may be long.
	maxEntries    = 4096
	maxCacheBytes = 64 << 20
	entryOverhead = 4 << 10
)

// cacheKey names what an Effective is made from. The agent and the model are zero where there is none.
type cacheKey struct {
	org     models.OrgID
	harness models.HarnessID
	agent   models.AgentID
	model   models.ModelID
	// setup is the hash of what the session brings, which never changes.
	setup string
}

// source is how an entry is filled, and how it learns whether it still holds.
type source struct {
	load  func() (*Effective, []version, error)
	check func([]version) (bool, error)
}

// cache remembers Effectives of this process.
type cache struct {
	clock clock.Clock

	mu    sync.Mutex
	lru   *simplelru.LRU[cacheKey, *entry]
	bytes int
}

type entry struct {
	// bytes is guarded by the cache's mutex.
	bytes int

	// asking has room for the one that asks the database, while the others wait.
	asking   chan struct{}
	eff      *Effective
	versions []version
	checked  time.Time
}

func newCache(c clock.Clock) *cache {
	k := &cache{clock: c}
	lru, err := simplelru.NewLRU(maxEntries, func(_ cacheKey, e *entry) { k.bytes -= e.bytes })
	if err != nil {
		// Only a size below one is refused.
		panic(fmt.Sprintf("make a cache of %d entries: %v", maxEntries, err))
	}
	k.lru = lru
	return k
}

// get returns what the key stands for, not older than Staleness.
func (k *cache) get(ctx context.Context, key cacheKey, from source) (*Effective, error) {
	e := k.entry(key)
	select {
	case e.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-e.asking }()
	// Read before the database is: what is found there is at least as new.
	now := k.clock.Now()
	if e.eff != nil {
		// A clock that was set back makes the age negative; that is no reason to trust the entry for longer.
		if age := now.Sub(e.checked); age >= 0 && age < Staleness {
			return e.eff, nil
		}
		same, err := from.check(e.versions)
		if err != nil {
			return nil, err
		}
		if same {
			e.checked = now
			return e.eff, nil
		}
	}
	eff, versions, err := from.load()
	if err != nil {
		e.eff = nil
		return nil, err
	}
	e.eff, e.versions, e.checked = eff, versions, now
	k.weigh(key, e, len(eff.SystemPrompt)+clientToolBytes(eff)+entryOverhead)
	return eff, nil
}

// clientToolBytes is about what the client tools take, in the text and compiled.
func clientToolBytes(eff *Effective) int {
	n := 0
	for _, t := range eff.Toolset.ClientTools() {
		n += 4*len(t.InputSchema) + len(t.Description)
	}
	return n
}

func (k *cache) entry(key cacheKey) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.lru.Get(key)
	if !ok {
		e = &entry{bytes: entryOverhead, asking: make(chan struct{}, 1)}
		k.lru.Add(key, e)
		k.bytes += e.bytes
	}
	return e
}

// weigh notes what an entry takes and drops the ones that were not used for longest until all fit.
func (k *cache) weigh(key cacheKey, e *entry, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now, ok := k.lru.Peek(key); !ok || now != e {
		return
	}
	k.bytes += bytes - e.bytes
	e.bytes = bytes
	for k.bytes > maxCacheBytes && k.lru.Len() > 1 {
		k.lru.RemoveOldest()
	}
}

// forget drops what is known of an organization. A call that is under way may still answer with what it read before, but
// nobody who asks from now on gets that.
func (k *cache) forget(org models.OrgID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.lru.Keys() {
		if key.org == org {
			k.lru.Remove(key)
		}
	}
}

// forgetAll drops everything.
func (k *cache) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lru.Purge()
}
