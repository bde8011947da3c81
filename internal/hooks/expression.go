package hooks

import (
	"context"
	"encoding/json"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/expr"
)

// evaluate asks an expression. True means allow, false block; a map is an answer as a webhook gives it.
func (r *Runner) evaluate(ctx context.Context, spec tools.HookSpec, in expr.Input) (*answer, *failure) {
	program, err := r.cfg.Expressions.Compile(spec.CEL.Expression, expr.Answer)
	if err != nil {
		return nil, failed(err, "its expression can't be compiled: %v", err)
	}
	limited, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	v, err := program.Answer(limited, in)
	if err != nil {
		return nil, failed(err, "%v", err)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return &answer{Decision: Allow}, nil
		}
		return &answer{Decision: Block, Reason: "The expression of the hook " + spec.ID + " is false."}, nil
	default:
		output, err := json.Marshal(v)
		if err != nil {
			return nil, failed(err, "its answer can't be encoded as JSON")
		}
		a, problem := readAnswer(output)
		if problem != nil {
			return nil, problem
		}
		return &a, nil
	}
}
