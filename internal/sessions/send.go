package sessions

import (
	"context"
	"errors"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
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

// NewPart is a piece of a message to send: exactly one field is set.
type NewPart struct {
	Text    *string         `json:",omitempty"`
	ImageID *models.ImageID `json:",omitempty"`
}

// Text makes a piece of text.
func Text(s string) NewPart { return NewPart{Text: &s} }

// NewMessage is a message to send.
type NewMessage struct {
	SessionID      models.SessionID
	Content        []NewPart
	Delivery       Delivery
	ModelID        *models.ModelID
	MaxTokens      *int
	IdempotencyKey *string `json:"-"`
}

// Sent names the message and the turn that carries it.
type Sent struct {
	MessageID models.MessageID `json:"message"`
	TurnID    models.TurnID    `json:"turn"`
}

// errParked means that a message has to be sent again with a look at what the active turn waits for. Most turns don't wait, so that
// it isn't looked at each time.
var errParked = errors.New("the active turn waits")

// Send accepts a message. It returns when the message is durable; the turn runs in the background.
func (s *Service) Send(ctx context.Context, by *auth.Principal, in NewMessage) (*models.Message, *models.Turn, error) {
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	if in.Delivery == "" {
		in.Delivery = Steer
	}
	if in.ModelID != nil {
		if err := s.checkModel(ctx, by, in); err != nil {
			return nil, nil, err
		}
	}
	content, err := s.parts(ctx, by.OrgID, in.Content, "input", "content")
	if err != nil {
		return nil, nil, err
	}
	c := newSendMessage(by, in, content)
	c.most = s.cfg.Limits.Of(ctx, by.OrgID).QueuedTurns
	sending := &Sending{c}
	defer func() { sending.Done(err) }()
	sending.reserve(ctx, s.cfg.Dispatch)
	err = s.cfg.Committer.Submit(ctx, c)
	if sending.Again(err) {
		err = s.cfg.Committer.Submit(ctx, c)
	}
	if err != nil {
		return nil, nil, err
	}
	if c.repeats {
		return s.sentBefore(ctx, by.OrgID, c.sent)
	}
	return &c.sentMessage, &c.sentTurn, nil
}

func (s *Service) checkModel(ctx context.Context, by *auth.Principal, in NewMessage) error {
	session, err := s.Get(ctx, by.OrgID, in.SessionID)
	if err != nil {
		return fault.At(err, "input", "sessionId")
	}
	_, err = s.cfg.Catalog.CheckSession(ctx, by, catalog.Choice{HarnessID: &session.HarnessID, ModelID: in.ModelID})
	return err
}

// sentBefore answers a repeated request with what became of the first one.
func (s *Service) sentBefore(ctx context.Context, org models.OrgID, sent Sent) (*models.Message, *models.Turn, error) {
	m, err := s.Message(ctx, org, sent.MessageID)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Turn(ctx, org, sent.TurnID)
	return m, t, err
}

// sendMessage accepts a message: into the inbox of the turn that is at work, or as a turn of its own.
type sendMessage struct {
	org     models.OrgID
	by      *auth.Principal
	in      NewMessage
	content []models.Part
	message models.MessageID
	turn    models.TurnID
	key     *commit.IdempotencyKey
	hash    []byte
	// most is how many turns of the organization may wait to begin; 0 is any number.
	most int
	// parked is true when the active turn was found to wait, so that what it waits for has to be known.
	parked bool
	// slot claims the turn at once when it is at the head of the line, and begins it; nil when none is free.
	slot Slot

	// What was decided, set anew by each Apply.
	sent        Sent
	repeats     bool
	claimed     bool
	sentMessage models.Message
	sentTurn    models.Turn
	session     models.Session
}

func newSendMessage(by *auth.Principal, in NewMessage, content []models.Part) *sendMessage {
	c := &sendMessage{org: by.OrgID, by: by, in: in, content: content, message: models.NewID[models.MessageEntity](), turn: models.NewID[models.TurnEntity]()}
	if in.IdempotencyKey != nil {
		c.key = &commit.IdempotencyKey{Operation: "sendMessage", Key: *in.IdempotencyKey}
		c.hash = in.hash()
	}
	return c
}

// again reports whether the command is to be submitted once more, with what it has needed.
func (c *sendMessage) again(err error) bool {
	if !errors.Is(err, errParked) {
		return false
	}
	c.parked = true
	return true
}

func (c *sendMessage) Needs() commit.Needs {
	n := 1024
	for i := range c.content {
		n += 256 + 2*len(c.content[i].Text)
	}
	needs := commit.Needs{Org: c.org, Session: c.in.SessionID, Idempotency: c.key, Bytes: n}
	if c.slot != nil && c.slot.Budgets() {
		needs.Budgets, needs.Ends = true, true
	}
	if c.in.Delivery == Interrupt {
		return turns.CancelNeeds(needs)
	}
	if c.parked {
		return turns.Needs(needs)
	}
	return needs
}

func (c *sendMessage) Apply(tx *commit.Tx) error {
	c.claimed, c.repeats = false, false
	if tx.Session == nil {
		return notFound(c.in.SessionID).At("input", "sessionId")
	}
	if c.key != nil {
		sent, found, err := repeated[Sent](tx, c.hash)
		if err != nil {
			return err
		}
		if found {
			c.sent, c.repeats = sent, true
			return nil
		}
	}
	active := tx.Turn != nil
	if c.in.Delivery == Reject && active {
		return fault.New(fault.SessionBusy, "A turn of the session is active. Wait until it has ended, or send with another delivery.").At("input", "delivery")
	}
	// A turn that is about to be cancelled takes no more messages: they come after what interrupted it.
	steer := c.in.Delivery == Steer && active && tx.Turn.Cancel == nil
	if steer && tx.Turn.Status == models.TurnWaiting && !c.parked {
		return errParked
	}
	// What is to stop the active turn must not wait behind a full line.
	if !steer && tx.Session.QueuedTurns >= MaxQueuedTurns && (c.in.Delivery != Interrupt || tx.Session.QueuedTurns >= 2*MaxQueuedTurns) {
		return fault.New(fault.LimitReached, "The session already has %d queued turns. Wait until some have run.", tx.Session.QueuedTurns)
	}
	if !steer && tx.TurnsFull(c.mostWaiting()) {
		return turnsFull(c.most)
	}
	turn := c.turn
	if steer {
		turn = tx.Turn.ID
	}
	kind, by := c.by.Actor()
	m := models.Message{
		OrgID: c.org, ID: c.message, SessionID: c.in.SessionID, TurnID: turn, Role: models.MessageUser, Content: c.content, CreatedAt: tx.Now,
		AuthorKind: &kind, AuthorID: by.Ptr(),
	}
	m.Sequence = tx.Emit(&turn, events.MessageReceived{
		Message:  events.Message{ID: m.ID, Role: m.Role, Content: m.Content, CreatedAt: m.CreatedAt},
		Delivery: string(c.in.Delivery),
	})
	tx.AddMessage(m)
	var err error
	switch {
	case steer:
		err = c.steer(tx, m.ID)
	default:
		err = c.begin(tx, m.ID)
	}
	if err != nil {
		return err
	}
	c.sentMessage, c.sent = m, Sent{MessageID: m.ID, TurnID: turn}
	if c.key != nil {
		tx.Remember(*c.key, c.hash, c.sent, tx.Now+models.Millis(idempotencyFor.Milliseconds()))
	}
	return nil
}

// steer puts the message into the inbox of the active turn. One that waits for its client or for the user's answer goes on with it.
func (c *sendMessage) steer(tx *commit.Tx, id models.MessageID) error {
	tx.Steer(id, new(c.by.Author()))
	if c.in.ModelID != nil {
		tx.SteerModel(c.in.ModelID)
	}
	_, err := turns.Interrupt(tx)
	c.sentTurn = *tx.Turn
	return err
}

// begin makes a turn of the message.
func (c *sendMessage) begin(tx *commit.Tx, id models.MessageID) error {
	kind, by := c.by.Actor()
	t := models.Turn{
		OrgID: c.org, ID: c.turn, SessionID: c.in.SessionID, InputMessageID: id, ModelID: c.in.ModelID, MaxTokens: c.in.MaxTokens,
		QueuedAt: tx.Now, Status: models.TurnQueued, StartedByKind: kind, StartedByID: by.Ptr(),
	}
	t.AddAuthor(c.by.Author()) // who made a key; others have started it already
	c.sentTurn = t
	add := tx.AddTurn
	if c.in.Delivery == Interrupt {
		add = tx.AddTurnFirst
	}
	if !add(t) {
		if c.in.Delivery != Interrupt {
			return nil
		}
		return turns.Cancel(tx, tx.Turn.ID, models.Cancel{
			At: tx.Now, Reason: "Another message interrupted the turn.", ByKind: kind, ByID: models.RefTo(kind, by),
		})
	}
	if c.slot != nil {
		tx.ClaimTurn(c.slot.RunnerID())
		// A budget may end the turn here: then it is the session's no more.
		head := tx.Turn
		if err := c.slot.Begin(tx, c.content); err != nil {
			return err
		}
		c.claimed, c.session, c.sentTurn = true, *tx.Session, *head
		return nil
	}
	c.sentTurn = *tx.Turn
	return nil
}
