package events_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/ostler-dev/ostler/internal/events"
)

// documentOf returns docs/events.md for kinds of events.
func documentOf(rows []events.Row) string {
	var b strings.Builder
	b.WriteString(documentHead)
	for _, r := range rows {
		lives, pairs, feed := "ephemeral", "", ""
		if r.Durable {
			lives = "durable"
		}
		if r.Opens != events.Nothing {
			pairs = "opens " + string(r.Opens)
		}
		if r.Closes != events.Nothing {
			pairs = "closes " + string(r.Closes)
		}
		if r.OrgFeed {
			feed = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
			r.Kind(), lives, pairs, feed, strings.Join(fieldsOf(r), ", "), r.Meaning)
	}
	b.WriteString(documentTail)
	return b.String()
}

// fieldsOf returns the names of the fields of the event's data, those that may be absent with a question mark.
func fieldsOf(r events.Row) []string {
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
