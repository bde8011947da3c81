package resolvers

import (
	"context"
	"sync"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// family is loaders that differ by an argument of the field, such as the size of a page, for all the objects that an operation has met: each
// reads for all of them in one statement.
type family[A, K comparable, V any] struct {
	fetch func(ctx context.Context, keys []K, arg A) (map[K]V, error)

	mu      sync.Mutex
	owners  map[K]struct{}
	loaders map[A]*loader[K, V]
}

func newFamily[A, K comparable, V any](fetch func(ctx context.Context, keys []K, arg A) (map[K]V, error)) *family[A, K, V] {
	return &family[A, K, V]{fetch: fetch, owners: map[K]struct{}{}, loaders: map[A]*loader[K, V]{}}
}

// expect notes that the operation has met an owner, which may be asked for what the loaders read.
func (f *family[A, K, V]) expect(owner K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owners[owner] = struct{}{}
	for _, l := range f.loaders {
		l.expect(&owner)
	}
}

// forget drops everything that was read, because it may have changed.
func (f *family[A, K, V]) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.loaders)
}

// with returns the loader for an argument; then is told of all that it reads.
func (f *family[A, K, V]) with(arg A, then func(V)) *loader[K, V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.loaders[arg]; ok {
		return l
	}
	l := newLoader(func(ctx context.Context, keys []K) (map[K]V, error) { return f.fetch(ctx, keys, arg) })
	l.then = then
	for owner := range f.owners {
		l.expect(&owner)
	}
	f.loaders[arg] = l
	return l
}

// firstPages reads the first page of a list that belongs to each of the objects that an operation has met, such as the
// sessions of agents, in one statement for each size of page that it asks for. K names the owner, V is a row.
type firstPages[K comparable, V any] struct {
	pages  *family[int, K, []V]
	counts *loader[K, int]
}

func newFirstPages[K comparable, V any](
	newest func(ctx context.Context, keys []K, limit int) (map[K][]V, error),
	count func(ctx context.Context, keys []K) (map[K]int, error),
) *firstPages[K, V] {
	return &firstPages[K, V]{pages: newFamily(newest), counts: newLoader(count)}
}

// expect notes that the operation has met an owner, whose list it may ask for.
func (p *firstPages[K, V]) expect(owner K) {
	p.counts.expect(&owner)
	p.pages.expect(owner)
}

// forget drops everything that was read, because it may have changed.
func (p *firstPages[K, V]) forget() {
	p.counts.forget()
	p.pages.forget()
}

// count returns how long an owner's list is. The lists of all owners are counted together.
func (p *firstPages[K, V]) count(ctx context.Context, owner K) (int, error) {
	n, _, err := p.counts.load(ctx, owner)
	return n, err
}

// page returns the loader for the first limit rows of each owner; then is told of all that it reads.
func (p *firstPages[K, V]) page(limit int, then func(*V)) *loader[K, []V] {
	return p.pages.with(limit, func(rows []V) {
		for i := range rows {
			then(&rows[i])
		}
	})
}

// ofPrincipal passes the organization of the principal to a service's call, which it is always about.
func ofPrincipal[K comparable, R any](
	call func(ctx context.Context, org models.OrgID, keys []K) (R, error),
) func(ctx context.Context, keys []K) (R, error) {
	return func(ctx context.Context, keys []K) (R, error) { return call(ctx, auth.FromContext(ctx).OrgID, keys) }
}

// pageOfPrincipal is ofPrincipal for a call with an argument, such as the size of a page.
func pageOfPrincipal[A, K comparable, R any](
	call func(ctx context.Context, org models.OrgID, keys []K, arg A) (R, error),
) func(ctx context.Context, keys []K, arg A) (R, error) {
	return func(ctx context.Context, keys []K, arg A) (R, error) {
		return call(ctx, auth.FromContext(ctx).OrgID, keys, arg)
	}
}
