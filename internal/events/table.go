package events

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// Row is what is known of one kind of event. docs/events.md is made from these rows, and CheckLog goes by them.
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

// Fields returns the names of the fields of the event's data, those that may be absent with a question mark.
func (r Row) Fields() []string {
	t := reflect.TypeOf(r.Payload)
	fields := make([]string, 0, t.NumField())
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "omitempty") {
			name += "?"
		}
		fields = append(fields, name)
	}
	return fields
}

// Document returns docs/events.md.
func Document() string { return document(Table()) }

func document(rows []Row) string {
	var b strings.Builder
	b.WriteString(documentHead)
	for _, r := range rows {
		lives, pairs, feed := "ephemeral", "", ""
		if r.Durable {
			lives = "durable"
		}
		if r.Opens != Nothing {
			pairs = "opens " + string(r.Opens)
		}
		if r.Closes != Nothing {
			pairs = "closes " + string(r.Closes)
		}
		if r.OrgFeed {
			feed = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
			r.Kind(), lives, pairs, feed, strings.Join(r.Fields(), ", "), r.Meaning)
	}
	b.WriteString(documentTail)
	return b.String()
}

const documentHead = `# Events

This file is made from the table in ` + "`internal/events/table.go`" + `; a test compares them.
To write it anew: ` + "`go test ./internal/events -run TestTheDocumentIsCurrent -update`" + `.

**Durable** events are in the session's log. Each has a sequence, gapless from 1, allotted in the transaction that makes
it true. **Ephemeral** events are live only: they carry the sequence of the last durable event before them on that
stream, and what they add up to is in the durable event that ends them.

What an event *opens*, exactly one later event *closes*, across any number of crashes. A turn is known by its id, a
step of reasoning or acting by its turn and ` + "`iteration`" + `, an output by its ` + "`messageId`" + `, a tool call by its
` + "`toolCallId`" + ` within the session; *work* is the session's time between rest and rest.

| kind | | pairs | org feed | fields of ` + "`data`" + ` | meaning |
| --- | --- | --- | --- | --- | --- |
`

const documentTail = `
A field with a question mark may be absent.

## Following a session

1. Subscribe with ` + "`after`" + ` set to the sequence of the last durable event that was handled, or 0 for all. Every durable
   event past it comes, then ` + "`CAUGHT_UP`" + `, then live ones.
2. Keep the text of the open output: ` + "`text = text[0:offset] + delta`" + `. Offsets count UTF-16 code units, as strings in
   JavaScript do. An offset of 0 begins the text anew: for those who join late, after a retry, and after another runner
   took the step over. ` + "`OUTPUT_COMPLETED`" + ` holds the whole message; drop what was kept for it.
3. When the stream ends with the code ` + "`SUBSCRIPTION_LAGGED`" + `, or the connection breaks, subscribe again with the last
   sequence. Nothing is missing and nothing comes twice.

## Following an organization

The kinds that are marked in the column *org feed* also have a place in the feed of their organization, which
` + "`orgEvents`" + ` streams: one order for all sessions, gapless from 1, allotted in the same transaction. The order of the feed
is the order of commits, and the events of one session come in the order of their sequences. Ephemeral events are never in it,
and neither are events from before the server had feeds.

1. Subscribe with ` + "`after: \"start\"`" + ` for all, or with the ` + "`cursor`" + ` of the last event that was handled. The cursor of an event is the
   same in its session's log, in ` + "`sessionEvents`" + ` and in the feed, and it fits wherever the API takes the cursor of an event. An
   event that is in no feed can't be resumed from here. Every event of the feed past the cursor comes, then ` + "`CAUGHT_UP`" + `,
   whose cursor is good as well, then live ones. Without ` + "`after`" + ` the stream begins now.
2. ` + "`kinds`" + ` leaves out all other kinds, ` + "`agentId`" + ` all sessions of other agents. A session's agent can change: what happens
   live goes by the agent of that moment, what is replayed by the one that the session has now.
3. When the stream ends with the code ` + "`SUBSCRIPTION_LAGGED`" + `, subscribe again with ` + "`extensions.lastCursor`" + `; when the connection
   breaks, with the cursor of the last event. Nothing is missing and nothing comes twice.

For what happens within a turn, follow its session: ` + "`sessionId`" + ` and ` + "`sequence`" + ` of an event tell where in its log it stands.
`
