package events

import (
	"github.com/ostler-dev/ostler/internal/models"
)

// rules checks what an event needs to have happened before it.
func (c *checker) rules(p Payload) {
	switch p := p.(type) {
	case SessionStarted:
		c.started(p)
	case MessageReceived:
		if p.Message.ID.IsZero() || c.received[p.Message.ID] {
			c.failf("message %s was received before", p.Message.ID)
		}
		c.received[p.Message.ID] = true
	case TurnQueued:
		c.input(p.InputMessageID)
		if c.event.TurnID != nil {
			if c.queued[*c.event.TurnID] || c.done[thing{ThingTurn, c.event.TurnID.String()}] {
				c.failf("turn %s was queued before", c.event.TurnID)
			}
			c.queued[*c.event.TurnID] = true
		}
	case TurnStarted:
		c.input(p.InputMessageID)
		if !c.open[thing{ThingWork, ""}] {
			c.failf("the session is at rest")
		}
		if c.turn != nil {
			c.failf("turn %s is still active", c.turn)
		}
		if c.event.TurnID != nil {
			delete(c.queued, *c.event.TurnID)
		}
		c.turn = c.event.TurnID
	case TurnCancelled:
		if c.event.TurnID != nil && c.queued[*c.event.TurnID] {
			// It never began: being queued is what ends.
			delete(c.queued, *c.event.TurnID)
			c.open[thing{ThingTurn, c.event.TurnID.String()}] = true
			return
		}
		c.endTurn()
	case TurnCompleted, TurnFailed, TurnSealed:
		c.endTurn()
	case TurnRated:
		c.ended()
	case TurnWaiting:
		c.inTurn()
		// Calls wait within an act, and a step for its budget between two of them.
		c.nothingOpen(ThingReason)
		if c.parked {
			c.failf("the turn waits already")
		}
		c.parked = true
	case TurnResumed:
		c.inTurn()
		if !c.parked {
			c.failf("the turn did not wait")
		}
		c.parked = false
	case MessageEdited:
		if !c.received[p.Message.ID] {
			c.failf("message %s was not received before", p.Message.ID)
		}
	case QueueReordered:
		for _, t := range p.TurnIDs {
			if !c.queued[t] {
				c.failf("turn %s is not queued", t)
			}
		}
	case SessionIdled:
		c.nothingOpen(ThingTurn)
		if len(c.queued) > 0 {
			c.failf("%d turns are queued", len(c.queued))
		}
	case ReasonStarted:
		c.inTurn()
		if c.parked {
			c.failf("the turn waits")
		}
		c.nothingOpen(ThingReason, ThingAct)
	case ReasonCompleted:
		c.inTurn()
		c.nothingOpen(ThingOutput)
	case ReasonRecovered, OutputStarted, OutputCompleted:
		c.inTurn()
		c.within(ThingReason)
	case ActStarted:
		c.inTurn()
		c.nothingOpen(ThingReason, ThingAct)
	case ActCompleted:
		c.inTurn()
		c.nothingOpen(ThingTool)
	case ToolStarted, ToolCompleted, ToolCallsRequested, ApprovalRequested, ApprovalDecided:
		c.inTurn()
		c.within(ThingAct)
	case GenerationRecorded, ThinkingCompleted:
		c.inTurn()
	}
}

// started checks the beginning of a log, or of the part that a fork adds to the history that it began with.
func (c *checker) started(p SessionStarted) {
	if (c.at == 0) != (p.ForkedFromID == nil) {
		c.failf("a session starts once, or is forked from another one")
	}
	if c.turn != nil {
		c.failf("turn %s is still active", c.turn)
	}
	// What waited there is not part of the fork, which begins at rest.
	clear(c.queued)
	delete(c.open, thing{ThingWork, ""})
}

// endTurn ends the active turn.
func (c *checker) endTurn() {
	c.inTurn()
	c.nothingOpen(ThingReason, ThingOutput, ThingAct, ThingTool)
	c.turn, c.parked = nil, false
}

// input checks that a turn's input was received before the turn is heard of.
func (c *checker) input(m models.MessageID) {
	if !c.received[m] {
		c.failf("its input %s was not received before", m)
	}
}

// inTurn checks that the event is one of the active turn.
func (c *checker) inTurn() {
	if c.event.TurnID == nil || c.turn == nil || *c.event.TurnID != *c.turn {
		c.failf("its turn %v is not the active one, %v", c.event.TurnID, c.turn)
	}
}

func (c *checker) within(kind Thing) {
	for t := range c.open {
		if t.kind == kind {
			return
		}
	}
	c.failf("no %s is open", kind)
}

func (c *checker) nothingOpen(kinds ...Thing) {
	for t := range c.open {
		for _, k := range kinds {
			if t.kind == k {
				c.failf("%s %s is still open", t.kind, t.id)
			}
		}
	}
}

// ended checks that the event's turn has ended.
func (c *checker) ended() {
	if c.event.TurnID == nil || !c.done[thing{ThingTurn, c.event.TurnID.String()}] {
		c.failf("its turn %v has not ended", c.event.TurnID)
	}
}
