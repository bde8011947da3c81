package resolvers

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Lists are paged by keyset: a cursor holds the key of its row, and a page is read by comparing keys in the database.
// Clients never parse cursors, so their form may change; its first byte is the version.
const (
	cursorVersion   = 1
	maxPage         = 100
	sequenceKind    = "seq"
	eventKind       = "event"
	maxCursorLength = 128
)

// encodeCursor makes a cursor: version, the kind of the list and a zero byte, then the key.
func encodeCursor(kind string, key []byte) string {
	b := make([]byte, 0, len(kind)+len(key)+2)
	b = append(b, cursorVersion)
	b = append(b, kind...)
	b = append(b, 0)
	b = append(b, key...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor returns the key of a cursor. It refuses cursors of other lists and of other versions.
func decodeCursor(kind, cursor string, keyLength int) ([]byte, *fault.Error) {
	key, err := openCursor(kind, cursor, maxCursorLength)
	if err == nil && len(key) != keyLength {
		err = errForeignCursor()
	}
	return key, err
}

// openCursor is decodeCursor for keys of any length, of cursors that are no longer than so many bytes.
func openCursor(kind, cursor string, length int) ([]byte, *fault.Error) {
	// The decoder passes over line breaks, even when it is strict.
	if len(cursor) > length || strings.ContainsAny(cursor, "\r\n") {
		return nil, errForeignCursor()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) == 0 || b[0] != cursorVersion {
		return nil, errForeignCursor()
	}
	got, key, ok := bytes.Cut(b[1:], []byte{0})
	if !ok || string(got) != kind {
		return nil, errForeignCursor()
	}
	return key, nil
}

func errForeignCursor() *fault.Error {
	return fault.New(fault.Invalid, "The cursor does not belong to this list. Use a cursor that this server returned, or none to start at the beginning.")
}

// idCursor returns the cursor of a row in a list that is ordered by id. Ids are UUIDv7, so that is the order of creation.
func idCursor[E models.Entity](id models.ID[E]) string {
	var e E
	return encodeCursor(e.Prefix(), id[:])
}

// decodeIDCursor reads a cursor of idCursor.
func decodeIDCursor[E models.Entity](cursor string) (models.ID[E], *fault.Error) {
	var e E
	key, err := decodeCursor(e.Prefix(), cursor, 16)
	if err != nil {
		return models.ID[E]{}, err
	}
	return models.ID[E](key), nil
}

// sequenceCursor returns the cursor of a row in a list that is ordered by sequence.
func sequenceCursor(sequence int64) string {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(sequence)) //nolint:gosec // G115: the bits come back as they went
	return encodeCursor(sequenceKind, key[:])
}

// decodeSequenceCursor reads a cursor of sequenceCursor.
func decodeSequenceCursor(cursor string) (int64, *fault.Error) {
	key, err := decodeCursor(sequenceKind, cursor, 8)
	if err != nil {
		return 0, err
	}
	sequence := int64(binary.BigEndian.Uint64(key)) //nolint:gosec // G115: the bits come back as they went
	if sequence < 0 {
		return 0, fault.New(fault.Invalid, "The cursor does not belong to this list.")
	}
	return sequence, nil
}

// eventCursor returns the cursor of an event, for the log of its session and for the feed of its organization. Events that have
// no place in the feed have a cursor of the log alone. The mark is left out when it is zero.
func eventCursor(e *models.Event, m events.Mark) string {
	if e.FeedPosition == nil {
		return sequenceCursor(e.Sequence)
	}
	key := binary.BigEndian.AppendUint64(make([]byte, 0, markedCursor), uint64(e.Sequence)) //nolint:gosec // G115: the bits come back as they went
	key = binary.BigEndian.AppendUint64(key, uint64(*e.FeedPosition))                       //nolint:gosec // G115: see above
	if m != (events.Mark{}) {
		key = append(key, m[:]...)
	}
	return encodeCursor(eventKind, key)
}

// itemCursor is eventCursor for an event of a stream.
func itemCursor(item *events.Item) string { return eventCursor(&item.Event, item.Mark()) }

// The lengths of the keys in cursors of events without and with a mark.
const (
	unmarkedCursor = 16
	markedCursor   = unmarkedCursor + len(events.Mark{})
)

// decodeEventCursor reads a cursor of eventCursor that has a place in a feed.
func decodeEventCursor(cursor string) (sequence, position int64, m events.Mark, err *fault.Error) {
	key, err := openCursor(eventKind, cursor, maxCursorLength)
	if err != nil {
		return 0, 0, m, err
	}
	if len(key) == markedCursor {
		m = events.Mark(key[unmarkedCursor:])
	}
	if len(key) != unmarkedCursor && m == (events.Mark{}) {
		return 0, 0, m, errForeignCursor()
	}
	sequence = int64(binary.BigEndian.Uint64(key[:8]))   //nolint:gosec // G115: the bits come back as they went
	position = int64(binary.BigEndian.Uint64(key[8:16])) //nolint:gosec // G115: see above
	if sequence < 0 || position < 0 {
		return 0, 0, m, fault.New(fault.Invalid, "The cursor does not belong to this list.")
	}
	return sequence, position, m, nil
}

// decodeLogCursor reads the sequence from a cursor of eventCursor.
func decodeLogCursor(cursor string) (int64, *fault.Error) {
	if sequence, _, _, err := decodeEventCursor(cursor); err == nil {
		return sequence, nil
	}
	return decodeSequenceCursor(cursor)
}

// pageArgs are the arguments of a connection. Lists that go one way leave Last and Before nil.
type pageArgs struct {
	First  *int
	After  *string
	Last   *int
	Before *string
}

// window is the part of a list that a client asks for; P is the key that the list is ordered by.
type window[P any] struct {
	// After and Before bound the part; nil is the end of the list.
	After, Before *P
	// Limit is how many rows to give; ask the database for one more, so that trim knows whether there are others.
	Limit int
	// Backward asks for the last rows of the part instead of the first. They are read in reverse.
	Backward bool
}

// newWindow checks the arguments of a connection. Without first and last it is the first byDefault rows.
func newWindow[P any](args pageArgs, byDefault int, decode func(string) (P, *fault.Error)) (window[P], error) {
	w := window[P]{Limit: byDefault}
	size := func(n int, name string) error {
		if n < 1 || n > maxPage {
			return fault.New(fault.Invalid, "%s must be from 1 to %d, not %d.", name, maxPage, n).At(name)
		}
		w.Limit = n
		return nil
	}
	if args.Last != nil {
		// first has a default in the schema, so it can't be told from one that was given: last wins.
		w.Backward = true
		if err := size(*args.Last, "last"); err != nil {
			return w, err
		}
	} else if args.First != nil {
		if err := size(*args.First, "first"); err != nil {
			return w, err
		}
	}
	for _, c := range []struct {
		arg  *string
		name string
		to   **P
	}{{args.After, "after", &w.After}, {args.Before, "before", &w.Before}} {
		if c.arg == nil {
			continue
		}
		p, err := decode(*c.arg)
		if err != nil {
			return w, err.At(c.name)
		}
		*c.to = &p
	}
	return w, nil
}

// idWindow is the window of a list that is ordered by id and goes one way.
func idWindow[E models.Entity](first *int, after *string, byDefault int) (window[models.ID[E]], error) {
	return newWindow(pageArgs{First: first, After: after}, byDefault, decodeIDCursor[E])
}

// trim takes the rows that the database gave for w, of which there may be one more than Limit, and returns the page in
// the list's order with its PageInfo. Rows of a backward window come in reverse.
func trim[R, P any](rows []R, w window[P], cursor func(*R) string) ([]R, *model.PageInfo) {
	more := len(rows) > w.Limit
	if more {
		rows = rows[:w.Limit]
	}
	info := &model.PageInfo{HasNextPage: more, HasPreviousPage: w.After != nil}
	if w.Backward {
		slices.Reverse(rows)
		info.HasNextPage, info.HasPreviousPage = w.Before != nil, more
	}
	if len(rows) > 0 {
		start, end := cursor(&rows[0]), cursor(&rows[len(rows)-1])
		info.StartCursor, info.EndCursor = &start, &end
	}
	return rows, info
}

// connection encodes the rows that the database returned for w, as trim takes them. The total is counted only when a client selects it; a
// list with no count has none.
func connection[R, P, N any](
	rows []R, w window[P], cursor func(*R) string, encode func(*R) *N, count func() (int, error),
) *model.Connection[N] {
	rows, info := trim(rows, w, cursor)
	page := &model.Connection[N]{Edges: make([]*model.Edge[N], len(rows)), Nodes: make([]*N, len(rows)), PageInfo: info, Count: count}
	for i := range rows {
		page.Nodes[i] = encode(&rows[i])
		page.Edges[i] = &model.Edge[N]{Cursor: cursor(&rows[i]), Node: page.Nodes[i]}
	}
	return page
}

// filteredPage reads a page of a list of the caller's organization that is ordered by id and goes one way.
func filteredPage[E models.Entity, F, R, N any](
	ctx context.Context, first *int, after *string, byDefault int, f F, id func(*R) models.ID[E],
	list func(ctx context.Context, org models.OrgID, f F, after *models.ID[E], limit int) ([]R, error),
	count func(ctx context.Context, org models.OrgID, f F) (int, error), encode func(*R) *N,
) (*model.Connection[N], error) {
	w, err := idWindow[E](first, after, byDefault)
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	rows, err := list(ctx, org, f, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	cursor := func(row *R) string { return idCursor(id(row)) }
	return connection(rows, w, cursor, encode, func() (int, error) { return count(ctx, org, f) }), nil
}

// idPage is filteredPage for a list without a filter.
func idPage[E models.Entity, R, N any](
	ctx context.Context, first *int, after *string, byDefault int, id func(*R) models.ID[E],
	list func(ctx context.Context, org models.OrgID, after *models.ID[E], limit int) ([]R, error),
	count func(ctx context.Context, org models.OrgID) (int, error), encode func(*R) *N,
) (*model.Connection[N], error) {
	return filteredPage(ctx, first, after, byDefault, struct{}{}, id,
		func(ctx context.Context, org models.OrgID, _ struct{}, after *models.ID[E], limit int) ([]R, error) {
			return list(ctx, org, after, limit)
		},
		func(ctx context.Context, org models.OrgID, _ struct{}) (int, error) { return count(ctx, org) }, encode)
}

// distinct returns the words of a filter, each once: a caller may repeat them more often than a statement takes parameters, and each of them
// costs time wherever it is compared. No list stays none.
func distinct[To, From ~string](list []From) []To {
	if list == nil {
		return nil
	}
	out := make([]To, 0, min(len(list), 16))
	for _, v := range list {
		if !slices.Contains(out, To(v)) {
			out = append(out, To(v))
		}
	}
	return out
}
