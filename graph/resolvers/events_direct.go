package resolvers

import (
	"bytes"
	"context"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
)

// directField writes the value of one field that all events have.
type directField func(b []byte, item *events.Item, data []byte) []byte

// directWriter returns what writes the answers of the subscription that is being resolved without executing it anew for each event.
// It serves the selections that are read most, by programs and logs: fields that all events have, and nothing else. For
// others it is nil. What it writes is byte for byte what gqlgen makes of it.
func directWriter(ctx context.Context) events.Write {
	root := graphql.GetFieldContext(ctx).Field
	fields := make([]directField, 0, len(root.Selections))
	names := make(map[string]bool, len(root.Selections))
	for _, sel := range root.Selections {
		f, ok := sel.(*ast.Field)
		if !ok || names[f.Alias] {
			return nil
		}
		write := directFieldOf(f.Name)
		if write == nil {
			return nil
		}
		names[f.Alias] = true
		name := []byte(`"` + f.Alias + `":`)
		fields = append(fields, func(b []byte, item *events.Item, data []byte) []byte {
			return write(append(b, name...), item, data)
		})
	}
	head := []byte(`{"` + root.Alias + `":{`)
	return func(item *events.Item) []byte {
		data, err := item.Data()
		if err != nil || bytes.Contains(data, []byte(`"metadata"`)) || !events.Knows(item.Event.Kind) { // see shownData, shownEvent
			return nil
		}
		b := append(make([]byte, 0, len(head)+len(data)+64*len(fields)), head...)
		for i, write := range fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = write(b, item, data)
		}
		return append(b, "}}"...)
	}
}

// directFieldOf returns what writes a field; nil for one that needs gqlgen.
func directFieldOf(name string) directField {
	switch name {
	case "id":
		return func(b []byte, item *events.Item, _ []byte) []byte { return quoted(b, item.Event.ID.String()) }
	case "kind":
		return func(b []byte, item *events.Item, _ []byte) []byte { return quoted(b, string(item.Event.Kind)) }
	case "sequence":
		return func(b []byte, item *events.Item, _ []byte) []byte {
			if item.Event.SessionID.IsZero() {
				return append(b, "null"...)
			}
			return strconv.AppendInt(b, item.Event.Sequence, 10)
		}
	case "cursor":
		return func(b []byte, item *events.Item, _ []byte) []byte { return quoted(b, itemCursor(item)) }
	case "occurredAt":
		return func(b []byte, item *events.Item, _ []byte) []byte { return model.AppendTime(b, item.Event.OccurredAt) }
	case "sessionId":
		return func(b []byte, item *events.Item, _ []byte) []byte {
			return quotedOrNull(b, idOrNull(&item.Event.SessionID))
		}
	case "turnId":
		return func(b []byte, item *events.Item, _ []byte) []byte {
			return quotedOrNull(b, idOrNull(item.Event.TurnID))
		}
	case "data":
		return func(b []byte, _ *events.Item, data []byte) []byte {
			if len(data) == 0 {
				return append(b, "null"...)
			}
			return append(b, data...)
		}
	}
	return nil
}

// quoted writes a text that has nothing in it that JSON escapes: ids, cursors and names of kinds.
func quoted(b []byte, s string) []byte {
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func quotedOrNull(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return quoted(b, *s)
}
