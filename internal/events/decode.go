package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/ostler-dev/ostler/internal/models"
)

// ErrUnknownKind means that an event has a kind that this version doesn't know. Another version, running beside this
// one, may have written it.
var ErrUnknownKind = errors.New("unknown kind of event")

// Decode reads the data of an event. It fails with ErrUnknownKind for kinds that this version doesn't know.
func Decode(kind models.EventKind, data models.JSON) (Payload, error) {
	return kinds.decode(kind, data)
}

// InOrgFeed reports whether events of a kind have a place in their organization's feed.
func InOrgFeed(kind models.EventKind) bool {
	row := kinds[kind]
	return row.Durable && row.OrgFeed
}

// Knows reports whether this version knows a kind of events.
func Knows(kind models.EventKind) bool { return kinds[kind].Payload != nil }

// kindTable holds the rows of a table by their kinds.
type kindTable map[models.EventKind]Row

var kinds = newKindTable(Table())

func newKindTable(rows []Row) kindTable {
	t := make(kindTable, len(rows))
	for _, row := range rows {
		t[row.Kind()] = row
	}
	return t
}

func (t kindTable) decode(kind models.EventKind, data models.JSON) (Payload, error) {
	row, ok := t[kind]
	if !ok {
		return nil, fmt.Errorf("decode %q: %w", kind, ErrUnknownKind)
	}
	p := reflect.New(reflect.TypeOf(row.Payload))
	if err := json.Unmarshal(data, p.Interface()); err != nil {
		return nil, fmt.Errorf("decode the data of %s: %w", kind, err)
	}
	return p.Elem().Interface().(Payload), nil //nolint:forcetypeassert // it has the type of a Payload
}
