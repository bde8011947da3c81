package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Vars are what an expression sees. Documents are JSON; an empty one is null, a nil map is empty.
type Vars struct {
	// Event is the name of the event.
	Event string
	// Tool is the tool's name; empty where the event is about no tool.
	Tool              string
	Arguments, Result json.RawMessage
	// Error is the text of a failed call.
	Error string
	// Message is the text of the user's message.
	Message string
	// Session, Turn and Agent hold ids and what else is known.
	Session, Turn, Agent map[string]any
}

// Input is what expressions are evaluated over, decoded once for all of them.
type Input struct{ vars map[string]any }

// Bind decodes variables. Integers of up to 64 bits become CEL's int, all other numbers its double.
func Bind(v Vars) (Input, error) {
	arguments, err := decode(v.Arguments)
	if err != nil {
		return Input{}, fmt.Errorf("decode the arguments: %w", err)
	}
	result, err := decode(v.Result)
	if err != nil {
		return Input{}, fmt.Errorf("decode the result: %w", err)
	}
	return Input{vars: map[string]any{
		"event": v.Event, "tool": v.Tool, "arguments": arguments, "result": result, "error": v.Error, "message": v.Message,
		"session": facts(v.Session), "turn": facts(v.Turn), "agent": facts(v.Agent),
	}}, nil
}

func facts(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func decode(doc json.RawMessage) (any, error) {
	if len(doc) == 0 {
		return types.NullValue, nil
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v)
}

// numbers turns json.Number, which CEL doesn't know, into what it knows.
func numbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return types.NullValue, nil
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return i, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = numbers(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// The limits of what an expression evaluates to.
const (
	maxOutcome      = 64 << 10
	maxOutcomeDepth = 32
)

// outcome turns what an expression evaluates to into values of encoding/json, as long as there is room left.
type outcome struct{ left int }

func (o *outcome) take(n int) error {
	if o.left -= n; o.left < 0 {
		return fmt.Errorf("the expression returns more than %d bytes", maxOutcome)
	}
	return nil
}

func (o *outcome) value(v ref.Val, depth int) (any, error) {
	if depth > maxOutcomeDepth {
		return nil, fmt.Errorf("the expression returns a value that is nested deeper than %d levels", maxOutcomeDepth)
	}
	// Whatever it is, it takes some room.
	if err := o.take(2); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, errors.New("the expression returns a number that JSON can't represent")
	case types.String:
		s := strings.ToValidUTF8(string(v), "\uFFFD")
		return s, o.take(len(s))
	case traits.Mapper:
		return o.object(v, depth)
	case traits.Lister:
		return o.list(v, depth)
	default:
		return nil, fmt.Errorf("the expression returns a value of type %s, which JSON can't represent; use string()", v.Type().TypeName())
	}
}

func (o *outcome) object(v traits.Mapper, depth int) (any, error) {
	object := map[string]any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok {
			return nil, errors.New("the expression returns a map whose keys are not all strings")
		}
		if err := o.take(len(key)); err != nil {
			return nil, err
		}
		member, err := o.value(v.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		object[string(key)] = member
	}
	return object, nil
}

func (o *outcome) list(v traits.Lister, depth int) (any, error) {
	list := []any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		element, err := o.value(it.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	return list, nil
}
