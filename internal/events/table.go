package events

import "github.com/ostler-dev/ostler/internal/models"

// Row is what is known of one kind of event. A test makes docs/events.md of these rows, and CheckLog goes by them.
type Row struct {
	// Durable events are in the log and have a sequence of their own. The others are live only.
	Durable bool
	// Opens and Closes name the thing that the event begins or ends; see Thing.
	Opens, Closes Thing
	// OrgFeed is true when the event is of interest to the whole organization.
	OrgFeed bool
	// Meaning is one sentence for readers of the documentation.
	Meaning string
	// Payload is a zero value of the type of the event's data.
	Payload Payload
}

// Thing is something that one event begins and exactly one other ends.
type Thing string

// The things, and what identifies each: a turn by its id, a step by its turn and iteration, an output by its message,
// a call by its id within the session.
const (
	Nothing     Thing = ""
	ThingTurn   Thing = "turn"
	ThingReason Thing = "reason"
	ThingOutput Thing = "output"
	ThingAct    Thing = "act"
	ThingTool   Thing = "tool"
	// ThingWork is the session's time between rest and rest.
	ThingWork Thing = "work"
)

// Table returns the one table of all kinds of events, in the order of the schema.
func Table() []Row {
	return []Row{
		{Payload: MessageReceived{}, Durable: true, Meaning: "A message was accepted."},
		{Payload: MessageEdited{}, Durable: true, Meaning: "The message of a queued turn was replaced."},
		{Payload: SessionStarted{}, Durable: true, OrgFeed: true, Meaning: "The session was created: sequence 1 of its log, or the first one past the history that it was forked with."},
		{Payload: SessionActivated{}, Durable: true, Opens: ThingWork, OrgFeed: true, Meaning: "The session began to work on a turn."},
		{Payload: SessionIdled{}, Durable: true, Closes: ThingWork, OrgFeed: true, Meaning: "The session is idle: no turn is active or queued."},
		{Payload: SessionWaiting{}, Durable: true, OrgFeed: true, Meaning: "The active turn can't go on until what it waits for is resolved."},
		{Payload: SessionPaused{}, Durable: true, OrgFeed: true, Meaning: "A budget is over its soft limit: the active turn is parked until the session is resumed, the budget is topped up, or its next period begins."},
		{Payload: SessionResumed{}, Durable: true, OrgFeed: true, Meaning: "The session no longer waits."},
		{Payload: SessionTitleChanged{}, Durable: true, OrgFeed: true, Meaning: "The session has a new title."},
		{Payload: SessionModelChanged{}, Durable: true, OrgFeed: true, Meaning: "The session uses another model from its next step on."},
		{Payload: TurnQueued{}, Durable: true, OrgFeed: true, Meaning: "A turn waits for the active one to end."},
		{Payload: QueueReordered{}, Durable: true, Meaning: "The queued turns were reordered; the list has the new order."},
		{Payload: TurnStarted{}, Durable: true, Opens: ThingTurn, OrgFeed: true, Meaning: "A turn began."},
		{Payload: TurnWaiting{}, Durable: true, OrgFeed: true, Meaning: "The turn is parked until something that it waits for is resolved; meanwhile it takes no runner."},
		{Payload: TurnResumed{}, Durable: true, OrgFeed: true, Meaning: "Something that the turn waited for was resolved; a runner continues it."},
		{Payload: TurnCompleted{}, Durable: true, Closes: ThingTurn, OrgFeed: true, Meaning: "A turn ended with an answer."},
		{Payload: TurnFailed{}, Durable: true, Closes: ThingTurn, OrgFeed: true, Meaning: "A turn ended with an error."},
		{Payload: TurnCancelled{}, Durable: true, Closes: ThingTurn, OrgFeed: true, Meaning: "A turn was cancelled while it was queued, waited or ran. One that was queued never began."},
		{Payload: TurnSealed{}, Durable: true, Closes: ThingTurn, OrgFeed: true, Meaning: "The server stopped a turn: at its iteration limit, or because it made no progress."},
		{Payload: TurnRated{}, Durable: true, OrgFeed: true, Meaning: "Somebody rated the answer of a turn, changed the rating or the comment, or took it back: then there is no rating."},
		{Payload: ReasonStarted{}, Durable: true, Opens: ThingReason, Meaning: "A step of reasoning began."},
		{Payload: ReasonCompleted{}, Durable: true, Closes: ThingReason, Meaning: "A step of reasoning ended."},
		{Payload: ReasonRecovered{}, Durable: true, Meaning: "A runner took over the step from one that had died. RESTART calls the model again under the same message id; FINALIZE keeps what it had said."},
		{Payload: OutputStarted{}, Durable: true, Opens: ThingOutput, Meaning: "The model begins a message; its id is fixed from here on."},
		{Payload: OutputDelta{}, Meaning: "A piece of the message: text = text[0:offset] + delta, in UTF-16 code units."},
		{Payload: OutputCompleted{}, Durable: true, Closes: ThingOutput, Meaning: "The model's message is complete."},
		{Payload: ThinkingDelta{}, Meaning: "A piece of the model's thinking, with the rules of OUTPUT_DELTA."},
		{Payload: ThinkingCompleted{}, Durable: true, Meaning: "The model's thinking for a message is complete."},
		{Payload: GenerationRetrying{}, Meaning: "A model call failed and is retried, after a delay or with the next fallback model."},
		{Payload: GenerationRecorded{}, Durable: true, Meaning: "What one model call used and cost. The reason `interrupted` means that the call failed, was cancelled, or that its runner died; the runner that continues the step then records it, under the same message id, and marks it `estimated` if the provider had not reported the usage. Calls that failed without reporting usage are not recorded. Together the events have the usage of the session."},
		{Payload: ActStarted{}, Durable: true, Opens: ThingAct, Meaning: "The tools of a step begin."},
		{Payload: ActCompleted{}, Durable: true, Closes: ThingAct, Meaning: "All tool calls of a step have ended."},
		{Payload: ToolStarted{}, Durable: true, Opens: ThingTool, Meaning: "A tool call began."},
		{Payload: ToolProgress{}, Meaning: "A tool reports its progress."},
		{Payload: ToolCompleted{}, Durable: true, Closes: ThingTool, Meaning: "A tool call ended."},
		{Payload: ToolCallsRequested{}, Durable: true, OrgFeed: true, Meaning: "Calls of client tools: the caller's own program runs them and submits the results."},
		{Payload: ToolCallRepaired{}, Durable: true, Meaning: "Malformed arguments of a call were repaired before it ran."},
		{Payload: ApprovalRequested{}, Durable: true, OrgFeed: true, Meaning: "A tool call waits until people have approved it, or the payment that it asks for."},
		{Payload: ApprovalDecided{}, Durable: true, OrgFeed: true, Meaning: "A tool call was approved or denied, or its approval expired."},
		{Payload: TranscriptRepaired{}, Durable: true, Meaning: "A call in the history had no result. It got its stored result (replay), or one that says that the outcome is unknown (synthesize)."},
		{Payload: HookRan{}, Durable: true, Meaning: "A hook ran."},
		{Payload: ContextCompacted{}, Durable: true, Meaning: "The model is no longer shown the messages that joined the conversation with the events from `fromSequence` through `throughSequence`, except the message that the turn answers. With the strategy TRIM these are the oldest ones, which don't fit its context window. If `throughSequence` is smaller than `fromSequence`, all messages are shown again."},
		{Payload: FileWritten{}, Durable: true, Meaning: "A file of the session was written or deleted."},
		{Payload: BudgetWarned{}, Durable: true, OrgFeed: true, Meaning: "80% of a budget's limit is spent. Emitted once per period, in the session whose step crossed it. Amounts are decimals in the currency."},
		{Payload: BudgetPaused{}, Durable: true, OrgFeed: true, Meaning: "A step did not begin, because a budget is over its soft limit. Nothing is lost."},
		{Payload: BudgetExhausted{}, Durable: true, OrgFeed: true, Meaning: "A step did not begin, because too little of a budget is left for it; the turn is sealed."},
		{Payload: BudgetResumed{}, Durable: true, OrgFeed: true, Meaning: "A turn that a budget had parked continues."},
		{Payload: CaughtUp{}, Meaning: "The replay that `after` asked for is complete; what follows is live."},
	}
}

// Kind returns the kind of the row's events.
func (r Row) Kind() models.EventKind { return r.Payload.Kind() }
