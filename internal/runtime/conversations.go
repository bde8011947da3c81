package runtime

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxCachedBytes bounds what all remembered conversations take together.
	maxCachedBytes = 64 << 20
	// maxCachedConversations bounds how many there are.
	maxCachedConversations = 10_000
)

// conversations remembers what was read of sessions, so that a turn of a long session reads only what is new. It may forget
// anything: what it holds is what the database holds up to a position, and positions only grow.
type conversations struct {
	mu    sync.Mutex
	list  *simplelru.LRU[sessionKey, *conversation]
	bytes int
}

type sessionKey struct {
	org     models.OrgID
	session models.SessionID
}

func newConversations() *conversations {
	c := &conversations{}
	list, err := simplelru.NewLRU(maxCachedConversations, func(_ sessionKey, v *conversation) { c.bytes -= v.bytes })
	if err != nil {
		panic(err) // only for a size below one
	}
	c.list = list
	return c
}

// session returns what a session ran with when its last turn here has ended; nil when that isn't known.
func (c *conversations) session(org models.OrgID, id models.SessionID) *sessionInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.list.Peek(sessionKey{org, id})
	if !ok {
		return nil
	}
	info := found.session
	return &info
}

// sizePreview is what the next model call will show of a session, apart from the new message.
type sizePreview struct {
	bytes int
	// sequence is the event through which that is all.
	sequence int64
}

// sizePreview returns what is known of the conversation before the turn has it; nil when not all is known that the model will be shown.
func (r *turnRun) sizePreview() *sizePreview {
	if r.session.fresh {
		return &sizePreview{sequence: 1}
	}
	return r.e.conversations.sizePreview(r.turn, contextBytes(r.step.effective, &r.step.effective.Model.Model))
}

func (c *conversations) sizePreview(t models.Turn, limit int) *sizePreview {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.list.Peek(sessionKey{t.OrgID, t.SessionID})
	if !ok || found.cut && min(limit, maxConversation) > found.limit {
		return nil
	}
	return &sizePreview{bytes: found.size(limit), sequence: found.sequence}
}

// take returns what is remembered of the session of a turn, for that turn alone; an empty conversation when nothing is.
func (c *conversations) take(t models.Turn) *conversation {
	k := sessionKey{t.OrgID, t.SessionID}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.list.Get(k)
	if !ok {
		// The first event of a session is SESSION_STARTED: nothing has joined by then. That of a fork comes later, past the end of
		// a turn at the least, so that none is taken for known that isn't.
		return &conversation{sequence: 1}
	}
	c.list.Remove(k)
	// Other runners may have gone on with the session meanwhile.
	found.stale = true
	return found
}

// put remembers a conversation after its turn has ended in good order.
func (c *conversations) put(t models.Turn, v *conversation) {
	if len(v.list) == 0 {
		return
	}
	k := sessionKey{t.OrgID, t.SessionID}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Only what is removed is counted off, not what is replaced: the session's next turn may have been faster.
	c.list.Remove(k)
	c.bytes += v.bytes
	c.list.Add(k, v)
	for c.bytes > maxCachedBytes {
		c.list.RemoveOldest()
	}
}
