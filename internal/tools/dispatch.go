package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

// MaxArgumentsBytes bounds the arguments of a call. They go into the journal and into every later prompt.
const MaxArgumentsBytes = 1 << 20

// The texts that stand for failures whose details only the log may know.
const (
	internalText = "internal_error: The tool failed because of an error in the server. The error was recorded. " +
		"Try something else, or tell the user."
	cancelledText = "cancelled: The call was cancelled before it finished."
)

// Frozen is a call as it will run, whatever becomes of the catalogue meanwhile. Its JSON form is stored.
type Frozen struct {
	ToolID      string `json:"toolId"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	// Arguments are canonical JSON; what stores them may write them in another form.
	Arguments json.RawMessage `json:"arguments"`
	Hints     Hints           `json:"hints"`
	// Repaired is true when the model's arguments were malformed and Salvage mended them.
	Repaired bool `json:"repaired,omitempty"`
	// Meters are what the call takes at most, beside one of tool_calls.
	Meters Meters `json:"meters,omitempty"`
}

// InputHash returns the SHA-256 of the canonical JSON of tool id and arguments. It doesn't depend on how a store has
// rewritten the arguments.
func (f Frozen) InputHash() []byte {
	arguments, err := jsonx.Canonical(f.Arguments)
	if err != nil {
		// Not made by Prepare. A hash of the bytes as they are still tells calls apart.
		arguments = jsonx.AppendString(nil, string(f.Arguments))
	}
	doc := append([]byte(`{"arguments":`), arguments...)
	doc = append(doc, `,"toolId":`...)
	doc = append(jsonx.AppendString(doc, f.ToolID), '}')
	sum := sha256.Sum256(doc)
	return sum[:]
}

// Prepare takes a call from the model's words to what can be frozen: it finds the tool among those that are offered,
// checks the arguments against its schema and lets it prepare them. A result that is not nil ends the call here; its
// form is that of Run's, and Frozen then names the tool as far as it was found. Malformed arguments that Salvage can mend
// are mended; Frozen tells. Hooks and gates that change arguments afterwards call it again with what they made of them.
func Prepare(
	ctx context.Context, offered Toolset, call *Call, name string, rawArguments json.RawMessage,
) (Frozen, *Result) {
	reg := offered.lookup(name)
	if reg == nil {
		// The name is a model's invention: it may be anything, also long.
		shown := oneLine(name, 64)
		return Frozen{Name: shown}, ended(Fail(fmt.Sprintf(
			"unknown_tool: There is no tool %q for you. %s", shown, offered.offered())))
	}
	frozen := Frozen{
		ToolID: reg.manifest.ID, Name: reg.manifest.Name, DisplayName: reg.manifest.DisplayName, Hints: reg.manifest.Hints,
		Meters: maps.Clone(reg.manifest.Meters),
		// A call that ends here is shown too, and JSON has no empty document.
		Arguments: json.RawMessage(`{}`),
	}
	value, refusal := decodeArguments(rawArguments)
	if refusal != "" {
		if mended, ok := Salvage(rawArguments); ok {
			frozen.Repaired = true
			value, refusal = decodeArguments(mended)
		}
	}
	if refusal == "" {
		if problems := reg.schema.check(value); len(problems) > 0 {
			refusal = describe(problems)
		}
	}
	if refusal != "" {
		return frozen, ended(Fail(fmt.Sprintf(
			"invalid_arguments: The arguments of %s are not valid: %s. Correct them and call again.", name, refusal)))
	}
	frozen.Arguments = jsonx.AppendCanonical(nil, value)
	preparer, ok := reg.tool.(Preparer)
	if !ok {
		return frozen, nil
	}
	prepared, result := runPreparer(ctx, preparer, call, slices.Clone(frozen.Arguments))
	if result != nil {
		return frozen, ended(*result)
	}
	value, refusal = decodeArguments(prepared)
	if refusal == "" {
		if problems := reg.schema.check(value); len(problems) > 0 {
			refusal = describe(problems)
		}
	}
	if refusal != "" {
		return frozen, ended(Result{Internal: fmt.Errorf("tool %s prepared arguments that are not valid: %s",
			reg.manifest.ID, refusal)})
	}
	frozen.Arguments = jsonx.AppendCanonical(nil, value)
	return frozen, nil
}

func ended(r Result) *Result {
	r = modelView(r)
	return &r
}

// decodeArguments returns the arguments as a value, or why they can't be used. Providers write the arguments of a tool
// without parameters as nothing at all.
func decodeArguments(raw json.RawMessage) (value any, refusal string) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, ""
	}
	if len(raw) > MaxArgumentsBytes {
		return nil, fmt.Sprintf("they have %d bytes; at most %d are allowed; split the work into several calls",
			len(raw), MaxArgumentsBytes)
	}
	v, err := jsonx.Normalized(raw)
	if err != nil {
		return nil, "they are not a JSON object: " + oneLine(err.Error(), 200)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, "they must be a JSON object"
	}
	if path, found := findNUL(object, nil); found {
		return nil, fieldName(path) + ` has a NUL character (\u0000) in it, which text can't hold`
	}
	return object, ""
}

// findNUL looks for a character that databases can't store in text.
func findNUL(v any, path []string) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return path, strings.Contains(v, "\x00")
	case []any:
		for i, e := range v {
			if p, found := findNUL(e, append(slices.Clip(path), strconv.Itoa(i))); found {
				return p, true
			}
		}
	case map[string]any:
		for name, e := range v {
			p := append(slices.Clip(path), strings.ReplaceAll(name, "\x00", `\u0000`))
			if strings.Contains(name, "\x00") {
				return p, true
			}
			if p, found := findNUL(e, p); found {
				return p, true
			}
		}
	}
	return nil, false
}

func runPreparer(ctx context.Context, p Preparer, call *Call, arguments json.RawMessage) (out json.RawMessage, r *Result) {
	defer func() {
		if v := recover(); v != nil {
			out, r = nil, &Result{Internal: panicked("prepare", v)}
		}
	}()
	return p.Prepare(ctx, call, arguments)
}

// Run executes a frozen call and returns its result as the model may see it. On failure ToolError is always a text for
// the model; Internal then holds what belongs into the log and nowhere else.
func Run(ctx context.Context, registry *Registry, call *Call, frozen Frozen) Result {
	reg := registry.tools[frozen.ToolID]
	if reg == nil && !frozen.Hints.Client {
		r := Fail(fmt.Sprintf("Unknown tool id %q. The tool was removed after the call was made. Continue without it.", frozen.ToolID))
		r.Measures = frozen.Meters.none()
		return modelView(r)
	}
	if frozen.Hints.Client || frozen.Hints.Wait != "" {
		return modelView(Result{Internal: fmt.Errorf("the call of %s is a wait of the engine and can't be run", frozen.ToolID)})
	}
	r := execute(ctx, reg.tool, call, slices.Clone(frozen.Arguments))
	return measured(frozen.ToolID, r, finishedResult(ctx, call, frozen, r))
}

// finishedResult returns what a tool has brought as the model may see it.
func finishedResult(ctx context.Context, call *Call, frozen Frozen, r Result) Result {
	if r.Internal != nil && ctx.Err() != nil &&
		(errors.Is(r.Internal, context.Canceled) || errors.Is(r.Internal, context.DeadlineExceeded)) {
		return Result{ToolError: cancelledText, Internal: r.Internal}
	}
	if r.Pending != nil && !r.Failed() {
		return pendingResult(call, frozen.ToolID, *r.Pending)
	}
	return modelView(r)
}

func execute(ctx context.Context, t Tool, call *Call, arguments json.RawMessage) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			r = Result{Internal: panicked("execute", v)}
		}
	}()
	return t.Execute(ctx, call, arguments)
}

func panicked(step string, v any) error {
	return fmt.Errorf("the tool panicked in %s: %v\n%s", step, v, debug.Stack())
}
