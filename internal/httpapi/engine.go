package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"go.opentelemetry.io/otel/trace"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
	"github.com/ostler-dev/ostler/internal/store"
)

// engine takes a GraphQL request to its answer. All transports share it, so that a limit or a rule holds on each.
type engine struct {
	executable graphql.ExecutableSchema
	types      *ast.Schema
	limits     Limits
	// memory is what operations share for what they read, and for their answers until those are written.
	memory     *shares.Shares[models.OrgID]
	mayWrite   func() error
	validator  *documentValidator
	documents  *documents
	authorizer *authorizer
	errors     *errorPresenter
	log        *slog.Logger
	meter      Meter
	// tracer makes spans of operations and resolvers; nil for none.
	tracer trace.Tracer
	// aroundField is what runs around every field.
	aroundField graphql.FieldMiddleware
	// forOperation prepares the context of a query or mutation for its resolvers; nil for nothing.
	forOperation func(context.Context) context.Context
}

func newEngine(cfg Config, executable graphql.ExecutableSchema, log *slog.Logger, meter Meter, tracer trace.Tracer) (*engine, error) {
	types := executable.Schema()
	authorizer, err := newAuthorizer(types, cfg.Introspection)
	if err != nil {
		return nil, fmt.Errorf("read the schema's @auth and @public: %w", err)
	}
	engine := &engine{
		executable: executable,
		types:      types,
		limits:     cfg.Limits,
		memory:     newMemory(cfg.Limits),
		mayWrite:   cfg.Writable,
		validator:  newDocumentValidator(types, cfg.Limits.ValidationErrors, cfg.Suggestions),
		documents:  newDocuments(cfg.Limits, cfg.Trusted, cfg.TrustedOnly),
		authorizer: authorizer,
		errors:     &errorPresenter{log: log, authorizer: authorizer, timeout: cfg.Limits.OperationTimeout, meter: meter},
		log:        log,
		meter:      meter,
		tracer:     tracer,
	}
	engine.aroundField = counted(engine.fieldMiddleware())
	return engine, nil
}

// request is a GraphQL request as all transports understand it.
type request struct {
	query         string
	documentID    string
	operationName string
	variables     map[string]any
	extensions    map[string]any
	wantsCost     bool
	// cookies is true when those of a sign-in came with it.
	cookies bool
}

// operation is a request that may run.
type operation struct {
	context *graphql.OperationContext
	kind    ast.Operation
	// shared are the renderers of the operation, if others may use them, too.
	shared *renderers
	price  cost
	priced bool
}

// prepare makes an operation of a request, or tells what is wrong with it. Nothing of the operation has run then.
func (e *engine) prepare(ctx context.Context, req *request) (op *operation, errs gqlerror.List) {
	kind := "unknown"
	defer func() {
		if r := recover(); r != nil { // the parser and the validator are not ours
			op, errs = nil, gqlerror.List{e.errors.panicked(ctx, r)}
		}
		if len(errs) != 0 {
			e.meter.Operation(kind, firstCode(errs), 0)
		}
	}()
	text, leave, err := e.documents.find(ctx, req)
	if err != nil {
		return nil, gqlerror.List{err}
	}
	doc, errs := e.documents.parse(ctx, text, e.parseDocument)
	if len(errs) != 0 {
		return nil, errs
	}
	if leave {
		e.documents.leave(ctx, req, text)
	}
	definition := doc.query.Operations.ForName(req.operationName)
	if definition == nil {
		return nil, gqlerror.List{coded(codeBadUserInput, "The document has no such operation. Set `operationName` to one of its operations.")}
	}
	kind = string(definition.Operation)
	variables, err := e.variables(definition, req.variables)
	if err != nil {
		return nil, gqlerror.List{err}
	}
	if definition.Operation == ast.Mutation {
		if err := e.writable(); err != nil {
			return nil, gqlerror.List{err}
		}
	}
	price, known := doc.costs[definition]
	if !known {
		if price, err, _ = priceOf(e.limits, e.types, definition, variables); err != nil {
			return nil, gqlerror.List{err}
		}
	}
	return &operation{
		kind:    definition.Operation,
		shared:  doc.shared[definition],
		price:   price,
		priced:  req.wantsCost || req.extensions["cost"] == true,
		context: e.execution(text, doc.query, definition, variables, req.extensions),
	}, nil
}

// writable refuses what would write while the database can't: it would wait until its deadline.
func (e *engine) writable() *gqlerror.Error {
	if e.mayWrite == nil || e.mayWrite() == nil {
		return nil
	}
	return coded(codeUnavailable, "The server's disk is full, so nothing can be changed until its operator makes room. Reading works. Try again later.")
}

// execution is what gqlgen wants to know of an operation.
func (e *engine) execution(text string, doc *ast.QueryDocument, definition *ast.OperationDefinition, variables, extensions map[string]any) *graphql.OperationContext {
	return &graphql.OperationContext{
		RawQuery:               text,
		OperationName:          definition.Name,
		Variables:              variables,
		Extensions:             extensions,
		Doc:                    doc,
		Operation:              definition,
		DisableIntrospection:   !e.authorizer.introspection,
		RecoverFunc:            e.errors.recovered,
		ResolverMiddleware:     e.aroundField,
		RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
	}
}

func (e *engine) variables(op *ast.OperationDefinition, given map[string]any) (map[string]any, *gqlerror.Error) {
	variables, err := validator.VariableValues(e.types, op, given)
	if err == nil {
		return variables, nil
	}
	bad := coded(codeBadUserInput, "The variables don't fit the operation.")
	if invalid, ok := errors.AsType[*gqlerror.Error](err); ok {
		bad.Message, bad.Path = clipMessage("Variable: "+invalid.Message), invalid.Path
	}
	return nil, bad
}

// run answers a query or a mutation. What is returned with the answer holds its memory, until End is called once the answer is written.
func (e *engine) run(ctx context.Context, op *operation) (resp *graphql.Response, answer *store.Bytes) {
	ctx, cancel := context.WithTimeout(ctx, e.limits.OperationTimeout)
	defer cancel()
	start := time.Now()
	ctx = e.traceOperation(ctx, op)
	defer func() {
		code := firstCode(resp.Errors)
		e.meter.Operation(string(op.kind), code, time.Since(start))
		e.endOperationTrace(ctx, code)
	}()
	if e.forOperation != nil {
		ctx = e.forOperation(ctx)
	}
	ctx, answer = store.WithBytes(ctx, e.limits.AnswerBytes, e.memoryOf(ctx))
	defer func() { answer.Keep(len(resp.Data)) }()
	op.context.RootResolverMiddleware = rooted(answer)
	ctx = e.within(ctx, op)
	defer func() {
		if r := recover(); r != nil { // resolvers have a recover of their own; this is for what is around them
			resp = &graphql.Response{Errors: gqlerror.List{e.errors.panicked(ctx, r)}}
		}
	}()
	resp = e.executable.Exec(ctx)(ctx)
	if err := answer.Err(); err != nil {
		return &graphql.Response{Errors: gqlerror.List{e.noBytes(err)}}, answer
	}
	return e.finish(ctx, op, resp), answer
}

func (e *engine) within(ctx context.Context, op *operation) context.Context {
	return graphql.WithResponseContext(graphql.WithOperationContext(ctx, op.context), e.errors.present, e.errors.recovered)
}

func (e *engine) finish(ctx context.Context, op *operation, resp *graphql.Response) *graphql.Response {
	if resp == nil {
		resp = &graphql.Response{}
	}
	resp.Errors = append(resp.Errors, graphql.GetErrors(ctx)...)
	resp.Extensions = e.extensions(op)
	return resp
}

func (e *engine) extensions(op *operation) map[string]any {
	if !op.priced {
		return nil
	}
	return map[string]any{"cost": map[string]any{"requested": op.price.requested, "limit": e.limits.Cost}}
}
