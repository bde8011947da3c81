package runtime

import (
	"cmp"
	"context"
	"slices"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// conversation is what the model is shown of a session, oldest first. Positions only grow, so that it is read on from where it
// was left, and never again from the start.
type conversation struct {
	list  []shown
	bytes int
	// limit is how many bytes were looked for.
	limit int
	// cut is true when older messages were forgotten, or never read.
	cut bool
	// stale is true when it is from an earlier turn, so that there is something to read in any case.
	stale bool
	// sequence is the event through which everything is known that has joined; session is what the session ran with then.
	// Only what is remembered has them.
	sequence int64
	session  sessionInfo
	// open are the calls without a result, by their ids; see repair.go.
	open map[string]unanswered
}

// isThrough reports whether everything is known that has joined the conversation by an event.
func (c *conversation) isThrough(sequence int64) bool { return c.sequence == sequence }

// shown is a message with its place.
type shown struct {
	// id is set for messages of the user.
	id       models.MessageID
	position int64
	ordinal  int
	llm.Message
	bytes int
}

// maxConversation bounds what is kept of one session: what the largest context windows hold.
const maxConversation = 4 << 20

// readConversation brings the conversation up to date. Without news, and with something known, nothing is read.
func (r *turnRun) readConversation(ctx context.Context, news bool) error {
	return r.readShown(ctx, r.step.effective, news)
}

// readShown is readConversation for what the model of a configuration sees.
func (r *turnRun) readShown(ctx context.Context, eff *catalog.Effective, news bool) error {
	c := r.conversation
	limit := min(contextBytes(eff, &eff.Model.Model), maxConversation)
	if limit > c.limit && c.cut {
		// The model of this step sees farther than the one before.
		*c = conversation{}
	}
	c.limit = limit
	if len(c.list) > 0 && !news && !c.stale {
		return nil
	}
	return r.persist(ctx, "read the conversation", func() error {
		messages, more, err := r.e.rows.messages(ctx, r.turn.OrgID, r.turn.SessionID, r.session.base, c.through(), limit)
		if err != nil {
			return err
		}
		for _, m := range messages {
			c.addMessage(m.ID, *m.Position, m.Ordinal, m.Role, m.Content)
		}
		c.cut = c.cut || more
		c.stale = false
		return nil
	})
}

// join brings the turn's input into the conversation, which is known through the event before it, when that is all that has joined with the
// step that w began: then there is nothing to read.
func (r *turnRun) join(w *turns.Writer) {
	if r.input == nil || !w.Consumed || w.Turn.ConsumedThrough != r.input.Sequence {
		return
	}
	r.conversation.addMessage(r.input.ID, w.ConsumedAt, 0, r.input.Role, r.input.Content)
	r.conversation.stale, w.Consumed = false, false
}

// through is the position that the conversation is known through.
func (c *conversation) through() int64 {
	if len(c.list) == 0 {
		return 0
	}
	return c.list[len(c.list)-1].position
}

// add puts a message in its place: results of one act have one position, and come in the order of their calls. Messages that
// joined together have one place, and keep the order in which they came.
func (c *conversation) add(position int64, ordinal int, role models.MessageRole, parts []models.Part) {
	c.addMessage(models.MessageID{}, position, ordinal, role, parts)
}

// addMessage is add for a message that may be rewritten.
func (c *conversation) addMessage(id models.MessageID, position int64, ordinal int, role models.MessageRole, parts []models.Part) {
	m := shown{id: id, position: position, ordinal: ordinal, Message: llm.Message{Role: role, Parts: parts}, bytes: partBytes(parts)}
	at := func(s shown) int { return cmp.Or(cmp.Compare(s.position, position), cmp.Compare(s.ordinal, ordinal)) }
	i, found := slices.BinarySearchFunc(c.list, m, func(s, _ shown) int { return at(s) })
	if found && role != models.MessageUser {
		return
	}
	for i < len(c.list) && at(c.list[i]) == 0 {
		i++
	}
	c.list = slices.Insert(c.list, i, m)
	c.bytes += m.bytes
	c.track(&m)
	c.forget()
}

// unseen returns the messages of the user that the model has not been shown: those behind its last word.
func (c *conversation) unseen() []shown {
	i := len(c.list)
	for i > 0 && c.list[i-1].Role == models.MessageUser {
		i--
	}
	return slices.Clone(c.list[i:])
}

// replace rewrites a message.
func (c *conversation) replace(id models.MessageID, parts []models.Part) {
	for i := range c.list {
		if m := &c.list[i]; m.id == id {
			c.bytes -= m.bytes
			m.Parts, m.bytes = parts, partBytes(parts)
			c.bytes += m.bytes
		}
	}
}

// forget drops older messages when there are more than may be kept.
func (c *conversation) forget() {
	if c.bytes <= maxConversation {
		return
	}
	c.list, c.cut = slices.Clone(c.window(maxConversation)), true
	c.bytes = 0
	for _, m := range c.list {
		c.bytes += m.bytes
	}
}

// window returns the newest messages that fit into a limit; see fit.
func (c *conversation) window(limit int) []shown {
	question, from := c.fit(limit)
	if question < from {
		return append(slices.Clone(c.list[question:question+1]), c.list[from:]...)
	}
	return c.list[from:]
}

// fit returns the index from which on the newest messages fit into a limit. They begin with a message of the user, and no result is without its
// call. question equals from, unless the current turn alone is too large: then its middle is left out. question is the turn's message, which
// stays, and from is the first of as many newest steps as fit, at least one. The provider decides whether even that is too much.
func (c *conversation) fit(limit int) (question, from int) {
	// The oldest messages of user and agent that fit, and the newest ones whether or not they do.
	user, agent, newestUser, newestAgent := -1, -1, -1, -1
	n := 0
	for i, m := range slices.Backward(c.list) {
		n += m.bytes
		switch m.Role {
		case models.MessageUser:
			newestUser = max(newestUser, i)
			if n <= limit {
				user = i
			}
		case models.MessageAgent:
			newestAgent = max(newestAgent, i)
			if n <= limit {
				agent = i
			}
		case models.MessageTool:
		}
		if n > limit && newestUser >= 0 {
			break
		}
	}
	if agent < 0 {
		agent = newestAgent
	}
	switch {
	case user >= 0:
		return user, user
	case newestUser >= 0 && newestUser < agent:
		return newestUser, agent
	case newestUser >= 0:
		return newestUser, newestUser
	case agent >= 0:
		return agent, agent
	}
	return len(c.list), len(c.list)
}

// omitted returns the positions of the first and the last message that a model is not shown within a limit of bytes; both are 0 if it is
// shown all. If the middle of a turn is left out, the turn's question may lie between them, and is shown.
func (c *conversation) omitted(limit int) (first, last int64) {
	question, from := c.fit(limit)
	switch {
	case question < from && from-question > 1:
		last = c.list[from-1].position
	case question > 0:
		last = c.list[question-1].position
	case c.cut && len(c.list) > 0:
		last = c.list[0].position - 1
	default:
		return 0, 0
	}
	switch {
	case c.cut:
		return 1, last
	case question == 0:
		return c.list[1].position, last
	}
	return c.list[0].position, last
}

// size returns how many bytes a model is shown within a limit.
func (c *conversation) size(limit int) (bytes int) {
	for _, m := range c.window(limit) {
		bytes += m.bytes
	}
	if _, last := c.omitted(limit); last > 0 {
		bytes += len(omittedNote)
	}
	return bytes
}

// extent returns the position of the first message that a model is shown within a limit of bytes, and how many messages it is shown.
func (c *conversation) extent(limit int) (from int64, shown int) {
	window := c.window(limit)
	if len(window) == 0 {
		return 0, 0
	}
	return window[0].position, len(window)
}

// imageBytes is the text that takes about as much of a context window as an image does.
const imageBytes = 1600 * bytesPerToken

func partBytes(parts []models.Part) int {
	n := 16
	for _, p := range parts {
		n += len(p.Text) + len(p.Arguments) + len(p.Result) + len(p.Error) + len(p.Metadata) + 32
		if p.Type == models.PartImage {
			n += imageBytes
		}
	}
	return n
}

// messages returns what a model is shown within a limit of bytes. Metadata is shown only to the model that it is from.
func (c *conversation) messages(limit int, origin string) []llm.Message {
	foreign := func(p *models.Part) bool { return len(p.Metadata) > 0 && p.Origin != origin }
	window := c.window(limit)
	out := make([]llm.Message, 0, len(window))
	for _, m := range window {
		if len(m.Parts) > 0 {
			m.Parts = turns.WithoutMetadata(m.Parts, foreign)
			out = append(out, m.Message)
		}
	}
	return out
}
