package resolvers

import (
	"context"
	"sync"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// firstPages reads the first page of a list that belongs to each of the objects that an operation has met, such as the
// sessions of agents, in one statement for each size of page that it asks for. K names the owner, V is a row.
type firstPages[K comparable, V any] struct {
	newest func(ctx context.Context, keys []K, limit int) (map[K][]V, error)
	counts *loader[K, int]

	mu     sync.Mutex
	owners map[K]struct{}
	pages  map[int]*loader[K, []V]
}

func newFirstPages[K comparable, V any](
	newest func(ctx context.Context, keys []K, limit int) (map[K][]V, error),
	count func(ctx context.Context, keys []K) (map[K]int, error),
) *firstPages[K, V] {
	return &firstPages[K, V]{
		newest: newest, counts: newLoader(count), owners: map[K]struct{}{}, pages: map[int]*loader[K, []V]{},
	}
}

// expect notes that the operation has met an owner, whose list it may ask for.
func (p *firstPages[K, V]) expect(owner K) {
	p.counts.expect(&owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owners[owner] = struct{}{}
	for _, l := range p.pages {
		l.expect(&owner)
	}
}

// forget drops everything that was read, because it may have changed.
func (p *firstPages[K, V]) forget() {
	p.counts.forget()
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.pages)
}

// count returns how long an owner's list is. The lists of all owners are counted together.
func (p *firstPages[K, V]) count(ctx context.Context, owner K) (int, error) {
	n, _, err := p.counts.load(ctx, owner)
	return n, err
}

// page returns the loader for the first limit rows of each owner; then is told of all that it reads.
func (p *firstPages[K, V]) page(limit int, then func(*V)) *loader[K, []V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.pages[limit]; ok {
		return l
	}
	l := newLoader(func(ctx context.Context, keys []K) (map[K][]V, error) { return p.newest(ctx, keys, limit) })
	l.then = func(rows []V) {
		for i := range rows {
			then(&rows[i])
		}
	}
	for owner := range p.owners {
		l.expect(&owner)
	}
	p.pages[limit] = l
	return l
}

// ofPrincipal passes the organization of the principal to a service's call, which it is always about.
func ofPrincipal[K comparable, R any](
	call func(ctx context.Context, org models.OrgID, keys []K) (R, error),
) func(ctx context.Context, keys []K) (R, error) {
	return func(ctx context.Context, keys []K) (R, error) { return call(ctx, auth.FromContext(ctx).OrgID, keys) }
}

// pageOfPrincipal is ofPrincipal for a call that reads pages.
func pageOfPrincipal[K comparable, R any](
	call func(ctx context.Context, org models.OrgID, keys []K, limit int) (R, error),
) func(ctx context.Context, keys []K, limit int) (R, error) {
	return func(ctx context.Context, keys []K, limit int) (R, error) {
		return call(ctx, auth.FromContext(ctx).OrgID, keys, limit)
	}
}
