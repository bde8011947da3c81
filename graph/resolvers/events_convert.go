package resolvers

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// encodeEventFunc returns an event as the API shows it, as a pointer to its type in graph/model.
type encodeEventFunc func(item *events.Item, payload events.Payload, data models.JSON) model.Event

// eventEncoders are the encoders by the type of the payload.
var eventEncoders = func() map[reflect.Type]encodeEventFunc {
	all := map[reflect.Type]encodeEventFunc{}
	for _, t := range eventTypes {
		encode, err := newEventEncoder(t.payload, t.event)
		if err != nil {
			panic(err)
		}
		all[t.payload] = encode
	}
	return all
}()

// eventFields are the fields that all events have.
var eventFields = []string{"ID", "Kind", "Sequence", "Cursor", "OccurredAt", "SessionID", "TurnID", "Data"}

// newEventEncoder returns what copies a payload into the event's type of the API. Each field of that type is one of eventFields or
// the payload's field of the same name. It returns an error for a field that is neither, or whose type it can't convert.
func newEventEncoder(payload, event reflect.Type) (encodeEventFunc, error) {
	fields, err := copiesOf(payload, event, eventFields)
	if err != nil {
		return nil, fmt.Errorf("encode events of type %s: %w", payload, err)
	}
	var at [8]int
	for i, name := range eventFields {
		f, _ := event.FieldByName(name)
		at[i] = f.Index[0]
	}
	return func(item *events.Item, p events.Payload, data models.JSON) model.Event {
		e := &item.Event
		out := reflect.New(event)
		v := out.Elem()
		*field[string](v, at[0]) = e.ID.String()
		*field[model.EventKind](v, at[1]) = model.EventKind(e.Kind)
		*field[string](v, at[3]) = itemCursor(item)
		*field[models.Millis](v, at[4]) = e.OccurredAt
		if id := idOrNull(&e.SessionID); id != nil { // CAUGHT_UP in a feed is about no session
			*field[*int](v, at[2]), *field[*string](v, at[5]) = new(int(e.Sequence)), id
		}
		*field[*string](v, at[6]) = idOrNull(e.TurnID)
		*field[models.JSON](v, at[7]) = data
		copyAll(v, reflect.ValueOf(p), fields, e)
		return out.Interface().(model.Event) //nolint:forcetypeassert // eventTypes holds nothing else
	}, nil
}

// field returns where a struct has its field no. i, which is of type T.
func field[T any](v reflect.Value, i int) *T {
	return v.Field(i).Addr().Interface().(*T) //nolint:forcetypeassert // see above
}

// fieldCopy copies one field of a struct into one of another.
type fieldCopy struct {
	to, from int
	convert  convertFunc
}

// convertFunc sets a field of the API to what a payload of the event e holds.
type convertFunc func(to, from reflect.Value, e *models.Event)

func copyAll(to, from reflect.Value, fields []fieldCopy, e *models.Event) {
	for _, f := range fields {
		f.convert(to.Field(f.to), from.Field(f.from), e)
	}
}

// copiesOf returns how a struct is filled from another one, except for some of its fields.
func copiesOf(from, to reflect.Type, except []string) (copies []fieldCopy, err error) {
	for i := range to.NumField() {
		field := to.Field(i)
		if slices.Contains(except, field.Name) {
			continue
		}
		f, ok := from.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, field.Name) }) // TurnIDs is TurnIds there
		if !ok {
			return nil, fmt.Errorf("%s has no field %s, which %s has", from, field.Name, to)
		}
		convert, err := converterOf(f.Type, field.Type, strings.Contains(field.Tag.Get("json"), "omitempty"))
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", field.Name, from, err)
		}
		copies = append(copies, fieldCopy{i, f.Index[0], convert})
	}
	return copies, nil
}

// converted are the conversions that are more than a copy, by what they convert.
var converted = map[reflect.Type]convertFunc{
	reflect.TypeFor[models.Usage](): convertBy(func(u models.Usage, _ *models.Event) *model.Usage { return encodeUsage(u) }),
	reflect.TypeFor[*models.Usage](): convertBy(func(u *models.Usage, _ *models.Event) *model.Usage {
		if u == nil {
			return nil
		}
		return encodeUsage(*u)
	}),
	reflect.TypeFor[models.Failure]():       convertBy(func(f models.Failure, _ *models.Event) *model.TurnError { return encodeFailure(&f) }),
	reflect.TypeFor[events.Message]():       convertBy(func(m events.Message, e *models.Event) *model.Message { return encodeEventMessage(m, *e) }),
	reflect.TypeFor[*events.PaymentTerms](): convertBy(func(p *events.PaymentTerms, _ *models.Event) *model.PaymentTerms { return encodeTerms(p) }),
}

func convertBy[From, To any](encode func(From, *models.Event) To) convertFunc {
	return func(to, from reflect.Value, e *models.Event) {
		*to.Addr().Interface().(*To) = encode(from.Interface().(From), e) //nolint:forcetypeassert // the types it was found by
	}
}

// converterOf returns what converts a field. A nullable one is null for an id or a text that is empty.
func converterOf(from, to reflect.Type, nullable bool) (convertFunc, error) {
	switch {
	case converted[from] != nil:
		return converted[from], nil
	case from == reflect.TypeFor[models.JSON]() && from == to && !nullable:
		return func(to, from reflect.Value, _ *models.Event) { to.SetBytes(objectOr(from.Bytes())) }, nil
	case from.Kind() == reflect.Slice && to.Kind() == reflect.Slice && from != reflect.TypeFor[models.JSON]():
		return listConverter(from.Elem(), to.Elem())
	case from == to:
		return set, nil
	case from.Kind() == reflect.String && to.Kind() == reflect.String:
		return func(to, from reflect.Value, _ *models.Event) { to.SetString(from.String()) }, nil
	case from.Kind() == reflect.String && to == reflect.TypeFor[*string]():
		return func(to, from reflect.Value, _ *models.Event) { setText(to, from.String()) }, nil
	case from.Kind() == reflect.String && to.Kind() == reflect.Pointer && to.Elem().Kind() == reflect.String:
		return func(to, from reflect.Value, _ *models.Event) {
			if from.Len() > 0 {
				to.Set(reflect.New(to.Type().Elem()))
				to.Elem().SetString(from.String())
			}
		}, nil
	case isID(from) && to == reflect.TypeFor[string]():
		text := idConverter(from)
		return func(to, from reflect.Value, _ *models.Event) { to.SetString(text(from)) }, nil
	case from.Kind() == reflect.Pointer && isID(from.Elem()) && to == reflect.TypeFor[*string]():
		text := idConverter(from.Elem())
		return func(to, from reflect.Value, _ *models.Event) {
			if !from.IsNil() && !from.Elem().IsZero() {
				setText(to, text(from.Elem()))
			}
		}, nil
	case from.Kind() == reflect.Struct && to.Kind() == reflect.Pointer:
		fields, err := copiesOf(from, to.Elem(), nil)
		return func(to, from reflect.Value, e *models.Event) {
			to.Set(reflect.New(to.Type().Elem()))
			copyAll(to.Elem(), from, fields, e)
		}, err
	}
	return nil, fmt.Errorf("there is no conversion from %s to %s", from, to)
}

// listConverter returns what converts a list; an absent one is an empty one.
func listConverter(from, to reflect.Type) (convertFunc, error) {
	convert, err := converterOf(from, to, false)
	empty := reflect.MakeSlice(reflect.SliceOf(to), 0, 0)
	return func(to, from reflect.Value, e *models.Event) {
		to.Set(empty)
		to.Grow(from.Len())
		to.SetLen(from.Len())
		for i := range from.Len() {
			convert(to.Index(i), from.Index(i), e)
		}
	}, err
}

func set(to, from reflect.Value, _ *models.Event) { to.Set(from) }

func setText(to reflect.Value, s string) { *to.Addr().Interface().(**string) = nonEmpty(s) } //nolint:forcetypeassert // see converterOf

func isID(t reflect.Type) bool { return t.ConvertibleTo(reflect.TypeFor[models.EventID]()) }

// idConverter returns what reads an id of a type as text. Bytes are copied one by one: an interface of the id would be an allocation.
func idConverter(t reflect.Type) func(reflect.Value) string {
	prefix, _, _ := strings.Cut(reflect.Zero(t).Interface().(fmt.Stringer).String(), "_") //nolint:forcetypeassert // see isID
	return func(v reflect.Value) string {
		var id models.EventID
		for i := range id {
			id[i] = byte(v.Index(i).Uint()) //nolint:gosec // G115: it is a byte
		}
		text := make([]byte, 0, 64)
		return string(hex.AppendEncode(append(append(text, prefix...), '_'), id[:]))
	}
}

// encodeTerms encodes a payment that people are asked about. What is no decimal was not written by this server.
func encodeTerms(p *events.PaymentTerms) *model.PaymentTerms {
	if p == nil {
		return nil
	}
	amount, err := decimal.NewFromString(p.Amount)
	if err != nil {
		return nil
	}
	return &model.PaymentTerms{Amount: amount, Currency: p.Currency, Host: p.Host, Purpose: p.Purpose}
}
