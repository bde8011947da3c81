// Package expr compiles and evaluates the CEL expressions in which users write policies and hooks. An expression sees only
// what it is given: it has no clock, no randomness and no way out, and its work is bounded.
package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// MaxBytes bounds the text of an expression.
	MaxBytes = 4 << 10
	// MaxTime bounds an evaluation.
	MaxTime = 100 * time.Millisecond

	// maxCost and maxElements bound the steps and the values of an evaluation, in CEL's own measures. On a machine that isn't
	// overloaded they are reached before MaxTime, so that the same expression over the same values ends in the same way.
	maxCost     = 200_000
	maxElements = 200_000
	// maxNesting bounds how deep an expression is nested.
	maxNesting = 64
	// checkEvery is after how many steps of a loop the time is looked at.
	checkEvery = 100
	// maxCompiled is how many expressions are kept compiled.
	maxCompiled = 4096
)

// Kind is what an expression must give.
type Kind int

// The kinds.
const (
	// Condition evaluates to true or false.
	Condition Kind = iota
	// Answer evaluates to true or false, or to a map.
	Answer
)

// Compiler compiles expressions and keeps them. It is safe for concurrent use.
type Compiler struct {
	env   *cel.Env
	known *lru.Cache[compiled, *Program]
}

type compiled struct {
	kind   Kind
	source string
}

// New returns a Compiler.
func New() (*Compiler, error) {
	facts := cel.MapType(cel.StringType, cel.DynType)
	env, err := cel.NewEnv(
		cel.Variable("event", cel.StringType),
		cel.Variable("tool", cel.StringType),
		cel.Variable("arguments", cel.DynType),
		cel.Variable("result", cel.DynType),
		cel.Variable("error", cel.StringType),
		cel.Variable("message", cel.StringType),
		cel.Variable("session", facts),
		cel.Variable("turn", facts),
		cel.Variable("agent", facts),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(MaxBytes),
		cel.RegexProgramSizeLimit(1000),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare expressions: %w", err)
	}
	known, err := lru.New[compiled, *Program](maxCompiled)
	if err != nil {
		return nil, fmt.Errorf("prepare the cache of expressions: %w", err)
	}
	return &Compiler{env: env, known: known}, nil
}

// Compile returns the program of an expression, or says in words for its author what is wrong.
func (c *Compiler) Compile(source string, kind Kind) (*Program, error) {
	key := compiled{kind, source}
	if p, ok := c.known.Get(key); ok {
		return p, nil
	}
	switch {
	case strings.TrimSpace(source) == "":
		return nil, errors.New("the expression is empty")
	case len(source) > MaxBytes:
		return nil, fmt.Errorf("the expression has %d bytes; at most %d are allowed", len(source), MaxBytes)
	}
	ast, issues := c.env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, describe(issues)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) && (kind != Answer || t.Kind() != types.MapKind) {
		want := "true or false"
		if kind == Answer {
			want += ", or a map"
		}
		return nil, fmt.Errorf("the expression returns a value of type %s; it must return %s", t, want)
	}
	program, err := c.env.Program(ast,
		cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost), cel.MemoryLimit(maxElements), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return nil, fmt.Errorf("the expression can't be used: %w", err)
	}
	p := &Program{program: program}
	c.known.Add(key, p)
	return p, nil
}

// describe returns the first thing that is wrong: what follows is often only its consequence.
func describe(issues *cel.Issues) error {
	first := issues.Errors()[0]
	message := strings.Join(strings.Fields(strings.ToValidUTF8(first.Message, "\uFFFD")), " ")
	if len(message) > 300 {
		message = strings.ToValidUTF8(message[:300], "") + "…"
	}
	return fmt.Errorf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, message)
}

// Program is a compiled expression. It is safe for concurrent use.
type Program struct{ program cel.Program }

// Condition evaluates an expression that must give true or false.
func (p *Program) Condition(ctx context.Context, in Input) (bool, error) {
	v, err := p.eval(ctx, in)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the expression returns a value of type %s; it must return true or false", v.Type().TypeName())
	}
	return bool(b), nil
}

// Answer evaluates an expression and returns its value: a bool, or a map as encoding/json has it. Integers come as int64.
func (p *Program) Answer(ctx context.Context, in Input) (any, error) {
	v, err := p.eval(ctx, in)
	if err != nil {
		return nil, err
	}
	out := outcome{left: maxOutcome}
	value, err := out.value(v, 0)
	if err != nil {
		return nil, err
	}
	switch value.(type) {
	case bool, map[string]any:
		return value, nil
	default:
		return nil, fmt.Errorf("the expression returns a value of type %s; it must return true, false or a map", v.Type().TypeName())
	}
}

func (p *Program) eval(ctx context.Context, in Input) (v ref.Val, err error) {
	// What the caller's context ends is no failure of the expression.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("the expression failed: %v", r)
		}
	}()
	v, _, err = p.program.ContextEval(limited, in.vars)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("the expression took longer than %d ms", MaxTime.Milliseconds())
	default:
		return nil, fmt.Errorf("the expression failed: %w", err)
	}
}
