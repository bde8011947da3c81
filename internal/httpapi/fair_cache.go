package httpapi

import (
	"container/heap"
	"container/list"
	"sync"

	"github.com/ostler-dev/ostler/internal/models"
)

// entryOverhead is what an entry counts for beside its text. It is about what the cache itself needs for one, and bounds
// the number of entries: there are never more than the capacity holds of these.
const entryOverhead = 512

// fairCache keeps what was used last, within a number of bytes that all organizations share. Each entry is on the account
// of the organization that brought it, and when there is no room, whoever has most on theirs loses what they have not used
// for longest. So somebody who brings ever new entries drives out their own, and nobody loses any for another's sake who
// has less than an even share. Callers without an organization are one among the others.
type fairCache[K comparable, V any] struct {
	mu       sync.Mutex
	capacity int
	used     int
	byKey    map[K]*list.Element // of *cacheEntry[K, V]
	accounts map[models.OrgID]*account
	largest  accountHeap
}

type cacheEntry[K comparable, V any] struct {
	key    K
	value  V
	weight int
	owner  *account
}

// account is what one organization has in the cache.
type account struct {
	org   models.OrgID
	used  int
	order *list.List // the entry used last in front
	place int        // in the heap
}

func newFairCache[K comparable, V any](capacity int) *fairCache[K, V] {
	return &fairCache[K, V]{capacity: capacity, byKey: map[K]*list.Element{}, accounts: map[models.OrgID]*account{}}
}

func (c *fairCache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	entry := el.Value.(*cacheEntry[K, V])
	entry.owner.order.MoveToFront(el)
	return entry.value, true
}

// add keeps a value whose text has size bytes, unless there is one under the key: it returns the one that is kept.
func (c *fairCache[K, V]) add(org models.OrgID, key K, value V, size int) V {
	weight := size + entryOverhead
	if weight > c.capacity {
		return value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[key]; ok {
		return el.Value.(*cacheEntry[K, V]).value
	}
	owner := c.accounts[org]
	if owner == nil {
		owner = &account{org: org, order: list.New()}
		c.accounts[org] = owner
		heap.Push(&c.largest, owner)
	}
	c.byKey[key] = owner.order.PushFront(&cacheEntry[K, V]{key, value, weight, owner})
	c.charge(owner, weight)
	for c.used > c.capacity {
		c.evict(c.largest[0])
	}
	return value
}

func (c *fairCache[K, V]) evict(owner *account) {
	gone := owner.order.Remove(owner.order.Back()).(*cacheEntry[K, V])
	delete(c.byKey, gone.key)
	c.charge(owner, -gone.weight)
	if owner.order.Len() == 0 {
		heap.Remove(&c.largest, owner.place)
		delete(c.accounts, owner.org)
	}
}

func (c *fairCache[K, V]) charge(owner *account, weight int) {
	c.used += weight
	owner.used += weight
	heap.Fix(&c.largest, owner.place)
}

// accountHeap has the account with most on it in front.
type accountHeap []*account

// Len implements heap.Interface.
func (h accountHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h accountHeap) Less(i, j int) bool { return h[i].used > h[j].used }

// Swap implements heap.Interface.
func (h accountHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *accountHeap) Push(x any) {
	a := x.(*account)
	a.place = len(*h)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *accountHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}
