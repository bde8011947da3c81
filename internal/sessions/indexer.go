package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// insertWords is how many words one statement writes.
	insertWords = 500
)

// Indexer writes the words of messages, by which sessions are found, behind the turns that make them. It follows the feeds of the
// organizations. Words and how far they go are committed together: a process that dies loses nothing, and what several do at once, one
// does.
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

// Index takes all feeds to their ends. Organizations take turns, so that a long feed holds nobody up.
func (x *Indexer) Index(ctx context.Context) error {
	for {
		orgs, err := unindexed(ctx, x.db, indexOrgs)
		if err != nil {
			return err
		}
		moved := false
		for _, org := range orgs {
			ok, stepErr := x.step(ctx, org)
			if ctx.Err() != nil {
				return ctx.Err() //nolint:wrapcheck // it was stopped
			}
			err, moved = errors.Join(err, stepErr), moved || ok
		}
		if err != nil || !moved {
			return err
		}
	}
}

// step indexes the messages of the sessions in the next events of a feed. It reports whether it got further.
func (x *Indexer) step(ctx context.Context, org models.OrgID) (moved bool, err error) {
	var feed models.WordFeed
	if err := store.Of(x.db.Read(ctx, org), org).Limit(1).Find(&feed).Error; err != nil {
		return false, fmt.Errorf("read how far the messages of %s are indexed: %w", org, err)
	}
	page, err := x.log.ReadFeed(ctx, org, feed.Position, events.Limit{Events: indexEvents, Bytes: indexBytes})
	if err != nil || len(page) == 0 {
		return false, err //nolint:wrapcheck // it says what
	}
	err = x.db.Write(ctx, org, func(tx *gorm.DB) error {
		locked := models.WordFeed{OrgID: org}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&locked).Error; err != nil {
			return err
		}
		if err := store.Of(tx.Clauses(clause.Locking{Strength: "UPDATE"}), org).Limit(1).Find(&locked).Error; err != nil {
			return err
		}
		if locked.Position != feed.Position {
			moved = true // by another process
			return nil
		}
		to, err := indexPage(tx, org, page)
		if err != nil {
			return err
		}
		moved = true
		if to == 0 {
			return nil // there is more of a session: it comes again
		}
		return store.OneRow(store.Of(tx.Model(&models.WordFeed{}), org).Update("position", to))
	})
	if err != nil {
		return false, fmt.Errorf("index messages of %s: %w", org, err)
	}
	return moved, nil
}

// indexPage indexes the messages of the sessions that events are of, and returns the position of the last event; 0 when there is more to
// index of a session.
func indexPage(tx *gorm.DB, org models.OrgID, page []models.Event) (to int64, err error) {
	var done []models.SessionID
	for i := range page {
		if slices.Contains(done, page[i].SessionID) {
			continue
		}
		done = append(done, page[i].SessionID)
		more, err := indexSession(tx, org, page[i].SessionID)
		if more || err != nil {
			return 0, err
		}
	}
	return *page[len(page)-1].FeedPosition, nil
}

// indexSession indexes the next messages of a session that are in its conversation: those of people and of the agent, not the results of
// tools. It reports whether there are more.
func indexSession(tx *gorm.DB, org models.OrgID, session models.SessionID) (more bool, err error) {
	at := models.WordSession{OrgID: org, SessionID: session}
	if err := store.Of(tx, org).Where("session_id = ?", session).Limit(1).Find(&at).Error; err != nil {
		return false, fmt.Errorf("read how far %s is indexed: %w", session, err)
	}
	var list []models.Message
	err = store.Of(tx, org).Select("content", "position").Order("position, ordinal").Limit(indexMessages).
		Where("session_id = ? AND position > ? AND role IN ('USER', 'AGENT')", session, at.Position).Find(&list).Error
	if err != nil {
		return false, fmt.Errorf("read the messages of %s: %w", session, err)
	}
	if len(list) == 0 {
		return false, nil
	}
	if more = len(list) == indexMessages; more {
		list = wholePositions(list)
	}
	var words []models.MessageWord
	for _, word := range wordsOf(list) {
		words = append(words, models.MessageWord{OrgID: org, Word: word, SessionID: session})
	}
	words = words[:min(len(words), max(0, maxSessionWords-at.Words))]
	for rows := range slices.Chunk(words, insertWords) {
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows)
		if res.Error != nil {
			return false, fmt.Errorf("write the words of %s: %w", session, res.Error)
		}
		at.Words += int(res.RowsAffected)
	}
	at.Position = *list[len(list)-1].Position
	if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&at).Error; err != nil {
		return false, fmt.Errorf("write how far %s is indexed: %w", session, err)
	}
	return more, nil
}

// wholePositions leaves out the messages at the last position, of which there may be more, unless there is no other one.
func wholePositions(list []models.Message) []models.Message {
	last := *list[len(list)-1].Position
	if n := slices.IndexFunc(list, func(m models.Message) bool { return *m.Position == last }); n > 0 {
		return list[:n]
	}
	return list
}

// wordsOf returns the words of what messages say, sorted, each once.
func wordsOf(list []models.Message) []string {
	var text strings.Builder
	for i := range list {
		left := maxIndexedText
		for _, part := range list[i].Content {
			if part.Type != models.PartText || left <= 0 {
				continue
			}
			said := part.Text[:min(left, len(part.Text))]
			left -= len(said)
			text.WriteString(strings.ToValidUTF8(said, ""))
			text.WriteByte(' ')
		}
	}
	return slices.DeleteFunc(models.Words(text.String()), func(word string) bool { return len(word) > maxWord })
}
