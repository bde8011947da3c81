package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// indexInterval is how often organizations with new events are looked for.
	indexInterval = 2 * time.Second
	// indexOrgs is how many organizations are looked for at once.
	indexOrgs = 1000
	// indexEvents and indexMessages are what one transaction takes of a feed and of a session: SQLite has one writer.
	indexEvents, indexBytes, indexMessages = 100, 1 << 20, 50
	// maxIndexedText bounds what is indexed of a message, in bytes, and maxSessionWords how many words a session has.
	maxIndexedText  = 64 << 10
	maxSessionWords = 5000
	// maxWord is the longest word that is indexed, in bytes: longer ones are data.
	maxWord = 64
	// maxPreview bounds what lists show of a message, in characters.
	maxPreview = 200
	// insertWords is how many words one statement writes, and transactionWords after how many a transaction ends.
	insertWords, transactionWords = 500, 5000
)

// Indexer writes the words of messages, by which sessions are found, and what lists show of sessions, behind the turns that make them. It
// follows the feeds of the organizations. What is indexed and how far it goes are committed together: a process that dies loses nothing,
// and what several do at once, one does.
type Indexer struct {
	db  *store.DB
	log *events.Log
}

// NewIndexer makes an Indexer.
func NewIndexer(db *store.DB, log *events.Log) *Indexer { return &Indexer{db: db, log: log} }

// Job returns what indexes new messages within seconds, and those that were there before it, until it is stopped.
func (x *Indexer) Job(log *slog.Logger) *background.Job {
	return background.Every(log, "index messages", indexInterval, x.Index, background.AtStart())
}

// Index takes all feeds to their ends. Organizations take turns, so that a long feed holds nobody up, nor does one that can't be indexed.
func (x *Indexer) Index(ctx context.Context) error {
	failed := map[models.OrgID]error{}
	for {
		orgs, err := unindexed(ctx, x.db, indexOrgs)
		if err != nil {
			return err
		}
		moved := false
		for _, org := range orgs {
			if failed[org] != nil {
				continue
			}
			ok, err := x.step(ctx, org)
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // it was stopped
			}
			if err != nil {
				failed[org] = err
			}
			moved = moved || ok
		}
		if !moved {
			return errors.Join(slices.Collect(maps.Values(failed))...)
		}
	}
}

// step indexes the sessions in the next events of a feed; when there are no new ones, in those that were there before the index. It reports whether
// it got further.
func (x *Indexer) step(ctx context.Context, org models.OrgID) (moved bool, err error) {
	feed := models.WordFeed{OrgID: org}
	if err := store.Of(x.db.Read(ctx, org), org).Limit(1).Find(&feed).Error; err != nil {
		return false, fmt.Errorf("read how far the messages of %s are indexed: %w", org, err)
	}
	next := func(after int64) ([]models.Event, error) {
		return x.log.ReadFeed(ctx, org, after, events.Limit{Events: indexEvents, Bytes: indexBytes})
	}
	reached := "position"
	page, err := next(feed.Position)
	if err == nil && len(page) == 0 && feed.Backfilled < feed.BackfillThrough {
		reached = "backfilled"
		page, err = next(feed.Backfilled)
	}
	if err != nil || len(page) == 0 {
		return false, err
	}
	// They are at least as new as these events. Should a newer state be missed, its own event comes later.
	states, err := x.statesOf(ctx, org, page)
	if err != nil {
		return false, err
	}
	err = x.db.Write(ctx, org, func(tx *gorm.DB) error {
		locked := models.WordFeed{OrgID: org}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&locked).Error; err != nil {
			return err
		}
		if err := store.Of(tx.Clauses(clause.Locking{Strength: "UPDATE"}), org).Limit(1).Find(&locked).Error; err != nil {
			return err
		}
		moved = true
		if locked != feed {
			return nil // by another process
		}
		written := 0
		for _, state := range states {
			if written >= transactionWords {
				return nil // the others come again
			}
			n, more, err := indexSession(tx, state)
			if more || err != nil {
				return err // it comes again when there is more of it
			}
			written += n
		}
		return store.OneRow(store.Of(tx.Model(&models.WordFeed{}), org).Update(reached, *page[len(page)-1].FeedPosition))
	})
	if err != nil {
		return false, fmt.Errorf("index messages of %s: %w", org, err)
	}
	return moved, nil
}

// indexSession indexes the state of a session and the next messages that are in its conversation: those of people and of the agent, not the
// results of tools. It reports how many words it has written, and whether there are more messages.
func indexSession(tx *gorm.DB, state models.IndexedSession) (written int, more bool, err error) {
	org, session := state.OrgID, state.SessionID
	var at models.IndexedSession
	if err := store.Of(tx, org).Where("session_id = ?", session).Limit(1).Find(&at).Error; err != nil {
		return 0, false, fmt.Errorf("read how far %s is indexed: %w", session, err)
	}
	state.Position, state.Words, state.Preview = at.Position, at.Words, at.Preview
	if state.ModelID == nil {
		state.ModelID = at.ModelID
	}
	seen := func(where string, position int64, limit int) (list []models.Message, err error) {
		err = store.Of(tx, org).Select("content", "position").Order("position, ordinal, sequence").Limit(limit).
			Where("session_id = ? AND role IN ('USER', 'AGENT') AND "+where+" AND "+seenMessages, session, position, org, session, org, session).Find(&list).Error
		if err != nil {
			return nil, fmt.Errorf("read the messages of %s: %w", session, err)
		}
		return list, nil
	}
	list, err := seen("position > ?", at.Position, indexMessages)
	if err != nil {
		return 0, false, err
	}
	if more = len(list) == indexMessages; more {
		if list, err = wholePositions(list, func(last int64) ([]models.Message, error) { return seen("position = ?", last, -1) }); err != nil {
			return 0, false, err
		}
	}
	var words []models.MessageWord
	if !state.Trial { // they would take the places of others among the newest that have a word
		words = wordsOf(list)
	}
	for i := range words {
		words[i].OrgID, words[i].SessionID = org, session
	}
	// Words that are there already leave room for others.
	for len(words) > 0 && state.Words < maxSessionWords {
		rows := words[:min(len(words), insertWords, maxSessionWords-state.Words)]
		words = words[len(rows):]
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows)
		if res.Error != nil {
			return 0, false, fmt.Errorf("write the words of %s: %w", session, res.Error)
		}
		state.Words += int(res.RowsAffected)
	}
	if len(list) > 0 {
		state.Position = *list[len(list)-1].Position
	}
	for _, message := range slices.Backward(list) {
		if line := previewOf(&message); line != "" {
			state.Preview = &line
			break
		}
	}
	if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&state).Error; err != nil {
		return 0, false, fmt.Errorf("index %s: %w", session, err)
	}
	return state.Words - at.Words, more, nil
}

// seenMessages leaves out what a turn has not shown its model yet: hooks may still take something out of it. One statement decides it, so that
// no turn begins in between.
const seenMessages = `(position <= (SELECT a.position FROM messages a WHERE a.org_id = ? AND a.session_id = ?
		AND a.position IS NOT NULL AND a.role = 'AGENT' ORDER BY a.position DESC LIMIT 1)
	OR NOT EXISTS (SELECT 1 FROM turns t WHERE t.org_id = ? AND t.session_id = ? AND t.status IN ('RUNNING', 'WAITING')))`

// wholePositions leaves out the messages at the last position, of which there may be more. When there is no other one, it reads them all: as many
// as have waited together for a turn.
func wholePositions(list []models.Message, at func(position int64) ([]models.Message, error)) ([]models.Message, error) {
	last := *list[len(list)-1].Position
	if n := slices.IndexFunc(list, func(m models.Message) bool { return *m.Position == last }); n > 0 {
		return list[:n], nil
	}
	return at(last)
}

// wordsOf returns the words of what messages say, each once, with the position of the first message that has it.
func wordsOf(list []models.Message) []models.MessageWord {
	var found []models.MessageWord
	seen := map[string]bool{}
	for i := range list {
		for _, word := range models.Words(saidIn(&list[i], maxIndexedText)) {
			if len(word) <= maxWord && !seen[word] {
				seen[word] = true
				found = append(found, models.MessageWord{Word: word, Position: *list[i].Position})
			}
		}
	}
	return found
}

// saidIn returns the text of a message, up to so many bytes.
func saidIn(m *models.Message, most int) string {
	var text strings.Builder
	for _, part := range m.Content {
		if part.Type != models.PartText || most <= 0 {
			continue
		}
		said := part.Text[:min(most, len(part.Text))]
		most -= len(said)
		text.WriteString(strings.ToValidUTF8(said, ""))
		text.WriteByte(' ')
	}
	return text.String()
}

// previewOf returns the beginning of what a message says, on one line.
func previewOf(m *models.Message) string {
	line := []rune(strings.Join(strings.Fields(saidIn(m, 8*maxPreview)), " "))
	if len(line) > maxPreview {
		return strings.TrimSpace(string(line[:maxPreview-1])) + "…"
	}
	return string(line)
}
