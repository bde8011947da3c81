package resolvers

import (
	"errors"
	"fmt"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// feedStart is the cursor before every event of a feed.
const feedStart = "start"

// decodeFeedCursor returns the position that a stream of a feed is to begin after, and the mark of the event there.
func decodeFeedCursor(cursor string) (position int64, m events.Mark, _ error) {
	if cursor == feedStart {
		return 0, m, nil
	}
	_, position, m, err := decodeEventCursor(cursor)
	if err == nil {
		return position, m, nil
	}
	if _, other := decodeSequenceCursor(cursor); other == nil {
		return 0, m, fault.New(fault.Invalid, "This event is not in the organization's feed. Use the cursor of an event from orgEvents, or %q.", feedStart).At("after")
	}
	return 0, m, fault.New(fault.Invalid, "after is not the cursor of an event. Use one that this server returned, %q for all events, or none to start now.", feedStart).At("after")
}

// feedError is streamError for a feed, where one goes on by a cursor.
func feedError(err error) error {
	if lagged, ok := errors.AsType[*events.LaggedError](err); ok {
		cursor := eventCursor(&models.Event{FeedPosition: &lagged.LastSequence}, lagged.Mark)
		return laggedError(lagged, "Subscribe again after extensions.lastCursor.", "lastCursor", cursor)
	}
	if lost, ok := errors.AsType[*events.LostPlaceError](err); ok {
		what := fmt.Sprintf("ends before the given cursor, at %d", lost.LastSequence)
		if lost.Replaced {
			what = "has another event at the given cursor"
		}
		return &gqlerror.Error{
			Message: fmt.Sprintf("The feed of this organization %s. The database was restored from a backup, or the cursor is "+
				"of another organization. Discard what you have read of it, and subscribe again with after: %q.", what, feedStart),
			Extensions: map[string]any{
				"code": "BAD_USER_INPUT", "lastSequence": lost.LastSequence,
				"lastCursor": eventCursor(&models.Event{FeedPosition: &lost.LastSequence}, events.Mark{}),
			},
		}
	}
	return streamError(err)
}
