package resolvers

import (
	"reflect"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
)

// eventType is the payload of one kind of event and the type that shows it in the API.
type eventType struct{ payload, event reflect.Type }

func eventTypeOf[P events.Payload, E any]() eventType {
	return eventType{reflect.TypeFor[P](), reflect.TypeFor[E]()}
}

// eventTypes are the types of all kinds, each named alike in both packages.
var eventTypes = []eventType{
	eventTypeOf[events.MessageReceived, model.MessageReceived](),
	eventTypeOf[events.MessageEdited, model.MessageEdited](),
	eventTypeOf[events.SessionStarted, model.SessionStarted](),
	eventTypeOf[events.SessionActivated, model.SessionActivated](),
	eventTypeOf[events.SessionIdled, model.SessionIdled](),
	eventTypeOf[events.SessionWaiting, model.SessionWaiting](),
	eventTypeOf[events.SessionPaused, model.SessionPaused](),
	eventTypeOf[events.SessionResumed, model.SessionResumed](),
	eventTypeOf[events.SessionTitleChanged, model.SessionTitleChanged](),
	eventTypeOf[events.SessionModelChanged, model.SessionModelChanged](),
	eventTypeOf[events.TurnQueued, model.TurnQueued](),
	eventTypeOf[events.QueueReordered, model.QueueReordered](),
	eventTypeOf[events.TurnStarted, model.TurnStarted](),
	eventTypeOf[events.TurnWaiting, model.TurnWaiting](),
	eventTypeOf[events.TurnResumed, model.TurnResumed](),
	eventTypeOf[events.TurnCompleted, model.TurnCompleted](),
	eventTypeOf[events.TurnFailed, model.TurnFailed](),
	eventTypeOf[events.TurnCancelled, model.TurnCancelled](),
	eventTypeOf[events.TurnSealed, model.TurnSealed](),
	eventTypeOf[events.TurnRated, model.TurnRated](),
	eventTypeOf[events.ReasonStarted, model.ReasonStarted](),
	eventTypeOf[events.ReasonCompleted, model.ReasonCompleted](),
	eventTypeOf[events.ReasonRecovered, model.ReasonRecovered](),
	eventTypeOf[events.OutputStarted, model.OutputStarted](),
	eventTypeOf[events.OutputDelta, model.OutputDelta](),
	eventTypeOf[events.OutputCompleted, model.OutputCompleted](),
	eventTypeOf[events.ThinkingDelta, model.ThinkingDelta](),
	eventTypeOf[events.ThinkingCompleted, model.ThinkingCompleted](),
	eventTypeOf[events.GenerationRetrying, model.GenerationRetrying](),
	eventTypeOf[events.GenerationRecorded, model.GenerationRecorded](),
	eventTypeOf[events.ActStarted, model.ActStarted](),
	eventTypeOf[events.ActCompleted, model.ActCompleted](),
	eventTypeOf[events.ToolStarted, model.ToolStarted](),
	eventTypeOf[events.ToolProgress, model.ToolProgress](),
	eventTypeOf[events.ToolCompleted, model.ToolCompleted](),
	eventTypeOf[events.ToolCallsRequested, model.ToolCallsRequested](),
	eventTypeOf[events.ToolCallRepaired, model.ToolCallRepaired](),
	eventTypeOf[events.ApprovalRequested, model.ApprovalRequested](),
	eventTypeOf[events.ApprovalDecided, model.ApprovalDecided](),
	eventTypeOf[events.TranscriptRepaired, model.TranscriptRepaired](),
	eventTypeOf[events.HookRan, model.HookRan](),
	eventTypeOf[events.ContextCompacted, model.ContextCompacted](),
	eventTypeOf[events.FileWritten, model.FileWritten](),
	eventTypeOf[events.BudgetWarned, model.BudgetWarned](),
	eventTypeOf[events.BudgetPaused, model.BudgetPaused](),
	eventTypeOf[events.BudgetExhausted, model.BudgetExhausted](),
	eventTypeOf[events.BudgetResumed, model.BudgetResumed](),
	eventTypeOf[events.CaughtUp, model.CaughtUp](),
}
