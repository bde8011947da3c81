package models

import (
	"fmt"
	"strings"
)

// ExecutionKind tells what an execution is. It is the prefix of the ids of that kind.
type ExecutionKind string

// ExecutionTurn is the kind of turns.
const ExecutionTurn = ExecutionKind(turnPrefix)

// ExecutionEntity is what all kinds of executions have in common.
type ExecutionEntity struct{}

// Prefix implements Entity. The id of an execution is shown as that of its kind: see Execution.
func (ExecutionEntity) Prefix() string { return "exec" }

// ExecutionID is the id of an execution where its kind is known from the context: no two of any kinds have the same.
type ExecutionID = ID[ExecutionEntity]

// Execution names what a runner claims, and works on under a lease: a turn.
type Execution struct {
	Kind ExecutionKind
	ID   ExecutionID
}

// ExecutionOf names the execution that has an id of its kind.
func ExecutionOf[E Entity](id ID[E]) Execution {
	var e E
	return Execution{ExecutionKind(e.Prefix()), ExecutionID(id)}
}

// ParseExecution reads what String gives.
func ParseExecution(s string) (Execution, error) {
	kind, digits, _ := strings.Cut(s, "_")
	id, err := ParseID[ExecutionEntity](ExecutionEntity{}.Prefix() + "_" + digits)
	if err != nil {
		return Execution{}, fmt.Errorf("%q is not the id of an execution", clip(s))
	}
	return Execution{ExecutionKind(kind), id}, nil
}

// String returns the outside form of the id.
func (e Execution) String() string {
	return string(e.Kind) + strings.TrimPrefix(e.ID.String(), ExecutionEntity{}.Prefix())
}

// MarshalText implements encoding.TextMarshaler for logs.
func (e Execution) MarshalText() ([]byte, error) { return []byte(e.String()), nil }
