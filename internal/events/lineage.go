package events

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// Piece is a part of a session's history: what a session has, past one sequence and through another.
type Piece struct {
	Session        models.SessionID
	After, Through int64
}

// MaxPieces bounds of how many pieces the history of a fork is made: so many forks may follow upon each other.
const MaxPieces = 200

// PiecesAtOnce is how many pieces one statement reads.
const PiecesAtOnce = 16

// maxLineages is how many lineages are kept.
const maxLineages = 1000

// Lineages tells where the histories of forks come from. A lineage never changes, so that it is read once. Readers ask for it only
// when they know that a session is a fork, by its BaseSequence, and need what is before its own part.
type Lineages struct {
	db *store.DB

	mu   sync.Mutex
	list *simplelru.LRU[Key, []Piece]
}

// NewLineages returns the lineages in a database.
func NewLineages(db *store.DB) *Lineages {
	list, err := simplelru.NewLRU[Key, []Piece](maxLineages, nil)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &Lineages{db: db, list: list}
}

// Of returns the pieces of a fork's history that other sessions hold, oldest first: gapless from sequence 1 through its base. There are
// none for other sessions, and for those that the organization doesn't have. Nobody may change the list.
func (l *Lineages) Of(ctx context.Context, org models.OrgID, session models.SessionID) ([]Piece, error) {
	if pieces := l.known(org, session); pieces != nil {
		return pieces, nil
	}
	var pieces []Piece
	err := l.db.Query(ctx, org, func(r store.Row) error {
		var p Piece
		err := r.Scan(&p.Session, &p.After, &p.Through)
		pieces = append(pieces, p)
		return err //nolint:wrapcheck // said below
	}, `SELECT ancestor_id, after_sequence, through_sequence FROM session_lineage
WHERE org_id = ? AND session_id = ? ORDER BY through_sequence`, org[:], session[:])
	if err != nil {
		return nil, fmt.Errorf("read the lineage of %s: %w", session, err)
	}
	if len(pieces) > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list.Add(Key{org, session}, pieces)
	}
	return pieces, nil
}

// known returns what was read before; nil for nothing.
func (l *Lineages) known(org models.OrgID, session models.SessionID) []Piece {
	l.mu.Lock()
	defer l.mu.Unlock()
	pieces, _ := l.list.Get(Key{org, session})
	return pieces
}

// Between returns the pieces that have a part between two sequences, both exclusive, cut to it, in the order in which a page is read,
// and in groups for one statement each. Most pages lie in one piece, so the first is alone.
func Between(pieces []Piece, after, before int64, backward bool) iter.Seq[[]Piece] {
	cut := make([]Piece, 0, len(pieces))
	for i := range pieces {
		p := pieces[i]
		if backward {
			p = pieces[len(pieces)-1-i]
		}
		p.After, p.Through = max(p.After, after), min(p.Through, before-1)
		if p.After < p.Through {
			cut = append(cut, p)
		}
	}
	return func(yield func([]Piece) bool) {
		for n := 1; len(cut) > 0; n = PiecesAtOnce {
			n = min(n, len(cut))
			if !yield(cut[:n]) {
				return
			}
			cut = cut[n:]
		}
	}
}
