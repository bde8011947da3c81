package events

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// ErrUnknownKind means that an event has a kind that this version doesn't know. Another version, running beside this
// one, may have written it.
var ErrUnknownKind = errors.New("unknown kind of event")

// Decode reads the data of an event. It fails with ErrUnknownKind for kinds that this version doesn't know.
func Decode(kind models.EventKind, data models.JSON) (Payload, error) {
	decode := decoderOf(kind)
	if decode == nil {
		return nil, fmt.Errorf("decode %q: %w", kind, ErrUnknownKind)
	}
	return decode(data)
}

var feedKinds = func() map[models.EventKind]bool {
	kinds := map[models.EventKind]bool{}
	for _, row := range Table() {
		if row.Durable && row.OrgFeed {
			kinds[row.Kind()] = true
		}
	}
	return kinds
}()

// InOrgFeed reports whether events of a kind have a place in their organization's feed.
func InOrgFeed(kind models.EventKind) bool { return feedKinds[kind] }

// Knows reports whether this version knows a kind of events.
func Knows(kind models.EventKind) bool { return decoderOf(kind) != nil }

func decodeAs[P Payload](data models.JSON) (Payload, error) {
	var p P
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("decode the data of %s: %w", p.Kind(), err)
	}
	return p, nil
}

// decoderOf is a switch and not a lookup in the table because it is on the way of every event.
func decoderOf(kind models.EventKind) func(models.JSON) (Payload, error) {
	switch kind {
	case models.EventMessageReceived:
		return decodeAs[MessageReceived]
	case models.EventSessionStarted:
		return decodeAs[SessionStarted]
	case models.EventSessionActivated:
		return decodeAs[SessionActivated]
	case models.EventSessionIdled:
		return decodeAs[SessionIdled]
	case models.EventSessionTitleChanged:
		return decodeAs[SessionTitleChanged]
	case models.EventSessionModelChanged:
		return decodeAs[SessionModelChanged]
	case models.EventTurnQueued:
		return decodeAs[TurnQueued]
	case models.EventTurnStarted:
		return decodeAs[TurnStarted]
	case models.EventTurnCompleted:
		return decodeAs[TurnCompleted]
	case models.EventTurnFailed:
		return decodeAs[TurnFailed]
	case models.EventTurnSealed:
		return decodeAs[TurnSealed]
	case models.EventReasonStarted:
		return decodeAs[ReasonStarted]
	case models.EventReasonCompleted:
		return decodeAs[ReasonCompleted]
	case models.EventReasonRecovered:
		return decodeAs[ReasonRecovered]
	case models.EventOutputStarted:
		return decodeAs[OutputStarted]
	case models.EventOutputDelta:
		return decodeAs[OutputDelta]
	case models.EventOutputCompleted:
		return decodeAs[OutputCompleted]
	case models.EventThinkingDelta:
		return decodeAs[ThinkingDelta]
	case models.EventThinkingCompleted:
		return decodeAs[ThinkingCompleted]
	case models.EventGenerationRetrying:
		return decodeAs[GenerationRetrying]
	case models.EventGenerationRecorded:
		return decodeAs[GenerationRecorded]
	case models.EventActStarted:
		return decodeAs[ActStarted]
	case models.EventActCompleted:
		return decodeAs[ActCompleted]
	case models.EventToolStarted:
		return decodeAs[ToolStarted]
	case models.EventToolProgress:
		return decodeAs[ToolProgress]
	case models.EventToolCompleted:
		return decodeAs[ToolCompleted]
	case models.EventMessageEdited:
		return decodeAs[MessageEdited]
	case models.EventSessionWaiting:
		return decodeAs[SessionWaiting]
	case models.EventSessionResumed:
		return decodeAs[SessionResumed]
	case models.EventQueueReordered:
		return decodeAs[QueueReordered]
	case models.EventTurnWaiting:
		return decodeAs[TurnWaiting]
	case models.EventTurnResumed:
		return decodeAs[TurnResumed]
	case models.EventTurnCancelled:
		return decodeAs[TurnCancelled]
	case models.EventToolCallsRequested:
		return decodeAs[ToolCallsRequested]
	case models.EventToolCallRepaired:
		return decodeAs[ToolCallRepaired]
	case models.EventApprovalRequested:
		return decodeAs[ApprovalRequested]
	case models.EventApprovalDecided:
		return decodeAs[ApprovalDecided]
	case models.EventTranscriptRepaired:
		return decodeAs[TranscriptRepaired]
	case models.EventHookRan:
		return decodeAs[HookRan]
	case models.EventFileWritten:
		return decodeAs[FileWritten]
	case models.EventSessionPaused:
		return decodeAs[SessionPaused]
	case models.EventBudgetWarned:
		return decodeAs[BudgetWarned]
	case models.EventBudgetPaused:
		return decodeAs[BudgetPaused]
	case models.EventBudgetExhausted:
		return decodeAs[BudgetExhausted]
	case models.EventBudgetResumed:
		return decodeAs[BudgetResumed]
	case models.EventCaughtUp:
		return decodeAs[CaughtUp]
	}
	return nil
}
