package tools

import (
	"context"
	"encoding/json"
	"fmt"
)

// Spec makes a Tool out of functions over decoded arguments. A is a struct whose JSON form is what the schema says;
// members that may be missing are omitempty, because Prepare's changes are encoded again.
type Spec[A any] struct {
	Manifest Manifest
	// Prepare may change the arguments, or end the call; nil for nothing to do. See Preparer.
	Prepare func(ctx context.Context, call *Call, args *A) *Result
	// Execute runs the call. See Tool.
	Execute func(ctx context.Context, call *Call, args A) Result
	// Narrate returns the line for people; nil for none. See Narrator.
	Narrate func(args A, done bool, locale string) string
}

// Define returns the Tool of a Spec.
func Define[A any](s Spec[A]) Tool { return &defined[A]{spec: s} }

type defined[A any] struct{ spec Spec[A] }

// Manifest implements Tool.
func (d *defined[A]) Manifest() Manifest { return d.spec.Manifest }

// Prepare implements Preparer.
func (d *defined[A]) Prepare(ctx context.Context, call *Call, arguments json.RawMessage) (json.RawMessage, *Result) {
	if d.spec.Prepare == nil {
		return arguments, nil
	}
	args, err := d.decode(arguments)
	if err != nil {
		return nil, &Result{Internal: err}
	}
	if ended := d.spec.Prepare(ctx, call, &args); ended != nil {
		return nil, ended
	}
	prepared, err := json.Marshal(args)
	if err != nil {
		return nil, &Result{Internal: fmt.Errorf("encode arguments of %s: %w", d.spec.Manifest.ID, err)}
	}
	return prepared, nil
}

// Execute implements Tool.
func (d *defined[A]) Execute(ctx context.Context, call *Call, arguments json.RawMessage) Result {
	args, err := d.decode(arguments)
	if err != nil {
		return Result{Internal: err}
	}
	return d.spec.Execute(ctx, call, args)
}

// Narrate implements Narrator.
func (d *defined[A]) Narrate(arguments json.RawMessage, done bool, locale string) string {
	if d.spec.Narrate == nil {
		return ""
	}
	args, err := d.decode(arguments)
	if err != nil {
		return ""
	}
	return d.spec.Narrate(args, done, locale)
}

func (d *defined[A]) decode(arguments json.RawMessage) (A, error) {
	var args A
	if err := json.Unmarshal(arguments, &args); err != nil {
		return args, fmt.Errorf("decode arguments of %s: %w", d.spec.Manifest.ID, err)
	}
	return args, nil
}

var (
	_ Tool     = (*defined[struct{}])(nil)
	_ Preparer = (*defined[struct{}])(nil)
	_ Narrator = (*defined[struct{}])(nil)
)
