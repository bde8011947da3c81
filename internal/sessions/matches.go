package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// A match shows up to maxSnippet characters of a message, of which up to snippetLead stand before the first word that was found.
const maxSnippet, snippetLead = 160, 40

// Match is a message that has words of a search.
type Match struct {
	Message models.Message
	// Parts is the place in the message, on one line, cut at the words that were found.
	Parts []MatchPart
}

// MatchPart is a piece of a match; Hit is true for a word of the search.
type MatchPart struct {
	Text string
	Hit  bool
}

// Matches returns, of each of the sessions whose messages have words of a search, the message in which most of them were said for the first time
// in the session: the first of those.
func (s *Service) Matches(ctx context.Context, org models.OrgID, ids []models.SessionID, search string) (map[models.SessionID]Match, error) {
	if err := text.Check(search, maxSearch, "search"); err != nil {
		return nil, err
	}
	words := models.Words(search)
	if len(words) == 0 || len(ids) == 0 {
		return nil, nil
	}
	var found []models.MessageWord
	if err := s.of(ctx, org).Where("word IN ? AND session_id IN ?", words, ids).Find(&found).Error; err != nil {
		return nil, fmt.Errorf("look for words in %d sessions: %w", len(ids), err)
	}
	list, err := s.messagesAt(ctx, org, bestPositions(found))
	if err != nil {
		return nil, err
	}
	// Messages that waited together share a position, and the words are those of all of them.
	matches, most := make(map[models.SessionID]Match, len(ids)), make(map[models.SessionID]int, len(ids))
	for i := range list {
		said, session := saidIn(&list[i], maxIndexedText), list[i].SessionID
		if n := wordsAmong(models.Words(said), words); n > most[session] {
			matches[session], most[session] = Match{Message: list[i], Parts: snippet(said, words)}, n
		}
	}
	return matches, nil
}

// wordsAmong counts those of some words that are among others.
func wordsAmong(others, words []string) (n int) {
	for _, word := range words {
		if slices.Contains(others, word) {
			n++
		}
	}
	return n
}

// bestPositions returns where most of the words were first said in each session, the first such place.
func bestPositions(found []models.MessageWord) map[models.SessionID]int64 {
	type place struct {
		session  models.SessionID
		position int64
	}
	words := map[place]int{}
	for _, w := range found {
		words[place{w.SessionID, w.Position}]++
	}
	best := map[models.SessionID]int64{}
	for at, n := range words {
		other, known := best[at.session]
		most := words[place{at.session, other}]
		if !known || n > most || n == most && at.position < other {
			best[at.session] = at.position
		}
	}
	return best
}

// messagesAt reads what people and the agent have said at a position in each session's conversation, in order.
func (s *Service) messagesAt(ctx context.Context, org models.OrgID, at map[models.SessionID]int64) ([]models.Message, error) {
	if len(at) == 0 {
		return nil, nil
	}
	var args []any
	for session, position := range at {
		args = append(args, org, session, position)
	}
	//nolint:unqueryvet // a message is read as a whole
	branch := "SELECT * FROM messages WHERE org_id = ? AND session_id = ? AND position = ? AND role IN ('USER', 'AGENT')"
	var list []models.Message
	if err := store.Rows(s.cfg.DB.Read(ctx, org).Raw(store.Union(branch, len(at))+" ORDER BY ordinal, sequence", args...), &list); err != nil {
		return nil, fmt.Errorf("read the messages that were found in %d sessions: %w", len(at), err)
	}
	return list, nil
}

// snippet returns the place in a text where the first of some words is, cut at those that it shows; nil when it has none of them.
func snippet(said string, words []string) []MatchPart {
	line := []rune(strings.Join(strings.Fields(said), " "))
	hits := hitsIn(line, words)
	if len(hits) == 0 {
		return nil
	}
	from := 0
	if first := hits[0][0]; first > snippetLead {
		// It begins with a whole word, if there is one.
		from = first - snippetLead
		if space := slices.Index(line[from:first], ' '); space >= 0 {
			from += space + 1
		}
	}
	to := min(len(line), from+maxSnippet)
	var parts []MatchPart
	add := func(text string, hit bool) {
		if text != "" {
			parts = append(parts, MatchPart{Text: text, Hit: hit})
		}
	}
	lead, trail := "", ""
	if from > 0 {
		lead = "…"
	}
	if to < len(line) {
		trail = "…"
	}
	at := from
	for _, hit := range hits {
		if hit[1] > to {
			break
		}
		add(lead+string(line[at:hit[0]]), false)
		add(string(line[hit[0]:hit[1]]), true)
		lead, at = "", hit[1]
	}
	add(lead+string(line[at:to])+trail, false)
	return parts
}

// hitsIn returns where words are in a line: from, and until before.
func hitsIn(line []rune, words []string) [][2]int {
	var hits [][2]int
	for at := 0; at < len(line); at++ {
		end := at
		for end < len(line) && models.InWord(line[end]) {
			end++
		}
		if end > at && slices.Contains(words, strings.ToLower(string(line[at:end]))) {
			hits = append(hits, [2]int{at, end})
		}
		at = max(at, end)
	}
	return hits
}

// IndexedByID returns what is indexed of sessions.
func (s *Service) IndexedByID(ctx context.Context, org models.OrgID, ids []models.SessionID) ([]models.IndexedSession, error) {
	var list []models.IndexedSession
	if err := s.of(ctx, org).Where("session_id IN ?", ids).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("read the index of %d sessions: %w", len(ids), err)
	}
	return list, nil
}
