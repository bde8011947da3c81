package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// messagesPage is how many messages are read at once. Most conversations fit into one page, and a page of the largest messages
// there are is still bearable.
const messagesPage = 50

const (
	conversationColumns = "id, role, content, sequence, position, ordinal"
	// unread are the messages below a place in the conversation, newest first.
	unread = " AND (position, ordinal, sequence) < (?, ?, ?) ORDER BY position DESC, ordinal DESC, sequence DESC LIMIT ?"

	ownMessages = "SELECT " + conversationColumns + " FROM messages WHERE org_id = ? AND session_id = ? AND position > ?" + unread
)

// What a fork has from others is read from one piece of its history, or from several at once, of which some may be empty.
var onePiece, manyPieces = pastMessages(1), pastMessages(events.PiecesAtOnce)

func pastMessages(pieces int) string {
	const piece = "SELECT " + conversationColumns + " FROM (SELECT " + conversationColumns +
		" FROM messages WHERE org_id = ? AND session_id = ? AND position > ? AND position <= ?" + unread + ") AS piece"
	return "SELECT " + conversationColumns + " FROM (" + strings.Repeat(piece+" UNION ALL ", pieces-1) + piece +
		") AS pieces ORDER BY position DESC, ordinal DESC, sequence DESC LIMIT ?"
}

// messageReader reads a conversation from its end.
type messageReader struct {
	database
	org     models.OrgID
	session models.SessionID
	// newestFirst is what was read; bytes is about how large it is, and limit how large it is to be.
	newestFirst  []models.Message
	bytes, limit int
	// below is where to go on: before this place of the conversation.
	below struct {
		position, sequence int64
		ordinal            int
	}
}

func (d database) messages(
	ctx context.Context, org models.OrgID, session models.SessionID, base, after int64, maxBytes int,
) (all []models.Message, more bool, err error) {
	return d.messagesThrough(ctx, org, session, base, after, math.MaxInt64-1, maxBytes)
}

// messagesThrough is messages for the conversation as it was at a position.
func (d database) messagesThrough(
	ctx context.Context, org models.OrgID, session models.SessionID, base, after, through int64, maxBytes int,
) (all []models.Message, more bool, err error) {
	r := messageReader{database: d, org: org, session: session, limit: maxBytes}
	r.below.position = through + 1
	more, err = r.read(ctx, func(n int) (string, []any) {
		return ownMessages, append([]any{org[:], session[:], after}, r.place(n)...)
	})
	if err == nil && after < base {
		more, err = r.readPast(ctx, base, after, more)
	}
	slices.Reverse(r.newestFirst)
	return r.newestFirst, more, err
}

// readPast goes on with what a fork has from others, unless there is enough already.
func (r *messageReader) readPast(ctx context.Context, base, after int64, more bool) (bool, error) {
	if more || r.bytes >= r.limit {
		return true, nil
	}
	pieces, err := r.lineages.Of(ctx, r.org, r.session)
	if err != nil {
		return false, err //nolint:wrapcheck // it says what was read
	}
	for group := range events.Between(pieces, after, base+1, true) {
		if r.bytes >= r.limit {
			return true, nil
		}
		more, err := r.read(ctx, func(n int) (string, []any) { return r.past(group, n) })
		if more || err != nil {
			return true, err
		}
	}
	return false, nil
}

// past asks for n messages of some pieces. Those that are missing to the number that the statement has are empty.
func (r *messageReader) past(group []events.Piece, n int) (string, []any) {
	statement, branches := manyPieces, events.PiecesAtOnce
	if len(group) == 1 {
		statement, branches = onePiece, 1
	}
	var args []any
	for i := range branches {
		p := group[0]
		if i > 0 {
			p.After = p.Through
		}
		if i < len(group) {
			p = group[i]
		}
		args = append(append(args, r.org[:], p.Session[:], p.After, p.Through), r.place(n)...)
	}
	return statement, append(args, n)
}

func (r *messageReader) place(n int) []any {
	return []any{r.below.position, r.below.ordinal, r.below.sequence, n}
}

// read reads page after page until there are no more messages, or enough: then more is true if there are others.
func (r *messageReader) read(ctx context.Context, page func(n int) (string, []any)) (more bool, err error) {
	for {
		n := 0
		statement, args := page(messagesPage + 1)
		err := r.db.Query(ctx, r.org, func(row store.Row) error {
			if n++; n > messagesPage {
				// It only proves that there are more.
				return nil
			}
			return r.take(row)
		}, statement, args...)
		if err != nil {
			return false, fmt.Errorf("read the messages of session %s: %w", r.session, err)
		}
		if n <= messagesPage || r.bytes >= r.limit {
			return n > messagesPage, nil
		}
	}
}

func (r *messageReader) take(row store.Row) error {
	var m models.Message
	var content models.JSON
	if err := row.Scan(&m.ID, &m.Role, &content, &m.Sequence, &m.Position, &m.Ordinal); err != nil {
		return err //nolint:wrapcheck // read says what was read
	}
	if err := json.Unmarshal(content, &m.Content); err != nil {
		return fmt.Errorf("read message %s: %w", m.ID, err)
	}
	r.newestFirst = append(r.newestFirst, m)
	r.bytes += len(content)
	r.below.position, r.below.ordinal, r.below.sequence = *m.Position, m.Ordinal, m.Sequence
	return nil
}
