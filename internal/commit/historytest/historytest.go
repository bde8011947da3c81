// Package historytest notes what many clients ask at once and are told, and looks for an order of their operations in which a plain
// model returns the same answers: each must seem to happen at one moment between its call and its answer.
package historytest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/ostler-dev/ostler/internal/sampletest"
)

// Clients is how many there are at once.
const Clients = 16

// Operations is how many operations a test makes on each database: all, or a quarter with -short, unless OSTLER_HISTORY_OPERATIONS says
// how many in a long run.
func Operations(t *testing.T, all int) int {
	t.Helper()
	v := os.Getenv("OSTLER_HISTORY_OPERATIONS")
	if v == "" {
		return sampletest.Number(t, "operations of histories", all/4, all)
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("OSTLER_HISTORY_OPERATIONS: %v", err)
	}
	return n
}

// History is what one or several models are to explain. The zero value is an empty one. Clients use it at once.
type History struct {
	// now orders calls and answers: it is raised by each.
	now atomic.Int64

	mu  sync.Mutex
	ops map[string][]porcupine.Operation
	odd []porcupine.Operation
}

// Record does one operation and notes what was asked and told. The kind says which model has to explain it.
func (h *History) Record(kind string, client int, input any, do func() any) {
	called := h.Call()
	output := do()
	h.Note(kind, client, input, output, called, h.Call())
}

// Call returns a moment, which is after all that were given before.
func (h *History) Call() int64 { return h.now.Add(1) }

// Note notes an operation that happened somewhere between two moments.
func (h *History) Note(kind string, client int, input, output any, called, returned int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ops == nil {
		h.ops = map[string][]porcupine.Operation{}
	}
	h.ops[kind] = append(h.ops[kind], porcupine.Operation{ClientId: client, Input: input, Call: called, Output: output, Return: returned})
}

// Wrong returns which kinds of operations no order explains, and how many operations there were; then it forgets them, but for one part
// of them which can't be explained.
func (h *History) Wrong(models map[string]porcupine.Model) (kinds []string, operations int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for kind, list := range h.ops {
		operations += len(list)
		if m := models[kind]; !porcupine.CheckOperations(m, list) {
			kinds = append(kinds, kind)
			h.odd = oddPart(m, list)
		}
	}
	h.ops = nil
	return kinds, operations
}

// oddPart returns the first part of a history that no order explains.
func oddPart(m porcupine.Model, list []porcupine.Operation) []porcupine.Operation {
	for _, part := range m.Partition(list) {
		if !porcupine.CheckOperations(m, part) {
			return part
		}
	}
	return list
}

// Odd shows what Wrong could not explain, by the moments of the calls: a line for each operation, with the moments of its call and its
// answer.
func (h *History) Odd() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortFunc(h.odd, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range h.odd {
		fmt.Fprintf(&b, "%d–%d client %d: %s\n", op.Call, op.Return, op.ClientId, Describe(op.Input, op.Output))
	}
	return b.String()
}

// PartitionBy divides a history: what happens to different things doesn't depend on each other.
func PartitionBy[I any, K comparable](of func(I) K) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(ops []porcupine.Operation) [][]porcupine.Operation {
		at := map[K]int{}
		var parts [][]porcupine.Operation
		for _, op := range ops {
			k := of(op.Input.(I)) //nolint:forcetypeassert // a panic is a failed test
			if _, ok := at[k]; !ok {
				at[k] = len(parts)
				parts = append(parts, nil)
			}
			parts[at[k]] = append(parts[at[k]], op)
		}
		return parts
	}
}

// Describe is how an operation is shown to people.
func Describe(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) }

// Faults lets one in 200 visits of a point of a transaction fail, at random.
type Faults struct{ injected atomic.Int64 }

// At fails, or not.
func (f *Faults) At(point string) error {
	if rand.IntN(200) > 0 { //nolint:gosec // nobody needs to be kept from guessing it
		return nil
	}
	f.injected.Add(1)
	return errors.New("injected at " + point)
}

// Injected is how often it has failed.
func (f *Faults) Injected() int64 { return f.injected.Load() }
