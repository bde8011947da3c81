package turns

import (
	"errors"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// Delivery is how a message meets a session that is at work.
type Delivery string

// The deliveries.
const (
	// Steer joins the active turn at its next step boundary, and starts a turn when none is active.
	Steer Delivery = "STEER"
	// Queue makes a turn of its own, behind those that wait.
	Queue Delivery = "QUEUE"
	// Interrupt cancels the active turn, and makes one that comes before those that wait.
	Interrupt Delivery = "INTERRUPT"
	// Reject is refused while a turn is active.
	Reject Delivery = "REJECT"
)

const (
	// MaxQueuedTurns bounds the line of a session.
	MaxQueuedTurns = 1000
	// QueueRetrySeconds is how long to wait when the organization's limit of queued turns is reached.
	QueueRetrySeconds = 5
)

// Sent names the message and the turn that carries it.
type Sent struct {
	MessageID models.MessageID `json:"message"`
	TurnID    models.TurnID    `json:"turn"`
}

// errParked means that a message has to be sent again with a look at what the active turn waits for. Most turns don't wait, so that
// it isn't looked at each time.
var errParked = errors.New("the active turn waits")

// SendMessage accepts a message: into the inbox of the turn that is at work, or as a turn of its own.
type SendMessage struct {
	By        *auth.Principal
	SessionID models.SessionID
	Delivery  Delivery
	Content   []models.Part
	ModelID   *models.ModelID
	MaxTokens *int
	// MessageID is that of the message, TurnID that of the turn which is made of it, if one is.
	MessageID models.MessageID
	TurnID    models.TurnID
	// Key is the idempotency key of the request, and Hash tells inputs apart; nil for none.
	Key  *commit.IdempotencyKey
	Hash []byte
	// MostQueued is how many turns of the organization may wait to begin; 0 is any number.
	MostQueued int
	// Claim is that of a free slot; nil when none is free.
	Claim *Claim

	// parked is true when the active turn was found to wait, so that what it waits for has to be known.
	parked bool

	// What was decided, set anew by each Apply.

	Sent Sent
	// Repeats is true when the request was accepted before; Sent says as what.
	Repeats bool
	// Claimed is true when the slot has the turn.
	Claimed bool
	Message models.Message
	Turn    models.Turn
	Session models.Session
}

// Again reports whether the command is to be submitted once more after an error, with what it has needed.
func (c *SendMessage) Again(err error) bool {
	if !errors.Is(err, errParked) {
		return false
	}
	c.parked = true
	return true
}

// Needs implements commit.Command.
func (c *SendMessage) Needs() commit.Needs {
	needs := commit.Needs{Org: c.By.OrgID, Session: c.SessionID, Idempotency: c.Key, Bytes: 1024 + 3*sizeOf(c.Content)}
	if c.Claim.budgeted() {
		needs.Budgets, needs.Ends = true, true
	}
	if c.Delivery == Interrupt {
		return cancelNeeds(needs)
	}
	if c.parked {
		return Needs(needs)
	}
	return needs
}

// Apply implements commit.Command.
func (c *SendMessage) Apply(tx *commit.Tx) error {
	c.Claimed, c.Repeats = false, false
	if tx.Session == nil {
		return notFound(c.SessionID).At("input", "sessionId")
	}
	if c.Key != nil {
		sent, found, err := commit.Repeated[Sent](tx, c.Hash)
		if err != nil {
			return err
		}
		if found {
			c.Sent, c.Repeats = sent, true
			return nil
		}
	}
	steer, err := c.steers(tx)
	if err != nil {
		return err
	}
	turn := c.TurnID
	if steer {
		turn = tx.Turn.ID
	}
	kind, by := c.By.Actor()
	m := models.Message{
		OrgID: c.By.OrgID, ID: c.MessageID, SessionID: c.SessionID, TurnID: turn, Role: models.MessageUser, Content: c.Content, CreatedAt: tx.Now,
		AuthorKind: &kind, AuthorID: by.Ptr(),
	}
	m.Sequence = tx.Emit(&turn, events.MessageReceived{
		Message:  events.Message{ID: m.ID, Role: m.Role, Content: m.Content, CreatedAt: m.CreatedAt},
		Delivery: string(c.Delivery),
	})
	tx.AddMessage(m)
	if steer {
		err = c.steer(tx)
	} else {
		err = c.enqueue(tx)
	}
	if err != nil {
		return err
	}
	c.Message, c.Sent = m, Sent{MessageID: m.ID, TurnID: turn}
	if c.Key != nil {
		tx.Remember(*c.Key, c.Hash, c.Sent, tx.Now+models.Millis(commit.RepeatableFor.Milliseconds()))
	}
	return nil
}

// steers decides whether the message joins the active turn or makes one. The error is why it can't do either.
func (c *SendMessage) steers(tx *commit.Tx) (bool, error) {
	active := tx.Turn != nil
	if c.Delivery == Reject && active {
		return false, fault.New(fault.SessionBusy, "A turn of the session is active. Wait until it has ended, or send with another delivery.").At("input", "delivery")
	}
	// A turn that is about to be cancelled takes no more messages: they come after what interrupted it.
	if c.Delivery == Steer && active && tx.Turn.Cancel == nil {
		if tx.Turn.Status == models.TurnWaiting && !c.parked {
			return false, errParked
		}
		return true, nil
	}
	// What is to stop the active turn must not wait behind a full line.
	line, all := MaxQueuedTurns, c.MostQueued
	if c.Delivery == Interrupt {
		line, all = 2*line, 2*all
	}
	if tx.Session.QueuedTurns >= line {
		return false, fault.New(fault.LimitReached, "The session already has %d queued turns. Wait until some have run.", tx.Session.QueuedTurns)
	}
	return false, full(tx, all, c.MostQueued)
}

// full is what stands against another turn when the organization has as many as may wait to begin; nil when it hasn't.
func full(tx *commit.Tx, limit, told int) error {
	if !tx.TurnsFull(limit) {
		return nil
	}
	f := fault.New(fault.LimitReached, "The organization has reached its limit of %d queued turns. Send the message again when some have begun.", told)
	f.RetryAfterSeconds = QueueRetrySeconds
	return f
}

// ApplyTo accepts the message in a session that the command of tx makes.
func (c *SendMessage) ApplyTo(tx, made *commit.Tx, session models.SessionID) error {
	if err := full(tx, c.MostQueued, c.MostQueued); err != nil {
		return err
	}
	c.SessionID = session
	return c.Apply(made)
}

// steer puts the message into the inbox of the active turn. One that waits for its client or for the user's answer goes on with it.
func (c *SendMessage) steer(tx *commit.Tx) error {
	tx.Steer(c.MessageID, new(c.By.Author()))
	if c.ModelID != nil {
		tx.SteerModel(c.ModelID)
	}
	_, err := interruptWaits(tx)
	c.Turn = *tx.Turn
	return err
}

// enqueue makes a turn of the message.
func (c *SendMessage) enqueue(tx *commit.Tx) error {
	kind, by := c.By.Actor()
	c.Turn = models.Turn{
		OrgID: c.By.OrgID, ID: c.TurnID, SessionID: c.SessionID, InputMessageID: c.MessageID, ModelID: c.ModelID, MaxTokens: c.MaxTokens,
		QueuedAt: tx.Now, Status: models.TurnQueued, StartedByKind: kind, StartedByID: by.Ptr(),
	}
	c.Turn.AddAuthor(c.By.Author()) // who made a key; others have started it already
	add := tx.AddTurn
	if c.Delivery == Interrupt {
		add = tx.AddTurnFirst
	}
	switch head := add(c.Turn); {
	case !head && c.Delivery == Interrupt:
		return Cancel(tx, tx.Turn.ID, models.Cancel{
			At: tx.Now, Reason: "Another message interrupted the turn.", ByKind: kind, ByID: models.RefTo(kind, by),
		})
	case !head:
		return nil
	case c.Claim == nil:
		c.Turn = *tx.Turn
		return nil
	}
	// A budget may end the turn here: then it is the session's no more.
	head := tx.Turn
	if err := c.Claim.take(tx); err != nil {
		return err
	}
	c.Claimed, c.Session, c.Turn = true, *tx.Session, *head
	return nil
}

// Claim is what a free slot of a runner does about a turn that is at the head of the line: it claims it in the transaction that makes it
// ready, and begins its first step when all that this takes is known.
type Claim struct {
	Runner models.RunnerID
	// First is what the first step runs with, with a Demand where budgets ask for one; nil when the runner has yet to find that out.
	First *Writer
	// Sequence is that of the session's newest event when the Demand was worked out.
	Sequence int64

	// Begun is how the first step has begun, set anew by each Apply; nil when it has not.
	Begun *Writer
}

// budgeted reports whether budgets are looked at, which may end the turn.
func (c *Claim) budgeted() bool { return c != nil && c.First != nil && c.First.Demand != nil }

// take claims the current turn. Its first step begins with it, unless the session runs with something else than what was prepared, or a
// budget asks what the call takes and not all is known that it will show: then the runner begins it.
func (c *Claim) take(tx *commit.Tx) error {
	c.Begun = nil
	tx.ClaimTurn(c.Runner)
	if c.First == nil {
		return nil
	}
	w := c.First
	w.Lease = commit.LeaseOf(tx.Turn)
	if w.Stopping || w.Config.Basis != basisOf(tx.Session, tx.Turn) ||
		tx.Session.Budgeted && (w.Demand == nil || c.Sequence != tx.Turn.InputSequence-1) {
		return nil
	}
	w.begin(tx)
	if err := w.follow(tx, Begun{}); err != nil {
		return err
	}
	c.Begun = w
	return nil
}
