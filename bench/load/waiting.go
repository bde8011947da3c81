package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

// waitTurns is how many turns of each kind P14 parks and resumes.
const waitTurns = 400

// clientTool is the name of a tool that the load generator runs itself.
const clientTool = "ask_the_caller"

// waitKind is a way in which a turn waits, and in which it is made to go on.
type waitKind struct {
	name  string
	agent map[string]any
	tool  string // that the turn calls
	// tools is how many results of tools the turn has; anyTools when that isn't known.
	tools int
	// goesOn is the event that tells that the turn runs again.
	goesOn string
	// resolve finds out what is waited for, and returns the request that ends the wait.
	resolve func(ctx context.Context, p *parked) (request func(context.Context) error, err error)
}

func waitKinds() []waitKind {
	return []waitKind{
		{
			name: "tool result",
			agent: map[string]any{"clientTools": []any{map[string]any{
				"name": clientTool, "description": "Asks the caller.", "inputSchema": map[string]any{"type": "object"},
			}}},
			tool: clientTool, tools: anyTools, goesOn: "REASON_STARTED",
			resolve: func(_ context.Context, p *parked) (func(context.Context) error, error) { return p.submitResult() },
		},
		{
			name: "approval",
			agent: map[string]any{"capabilities": []any{
				map[string]any{"id": "core"},
				map[string]any{"id": "approvals", "config": map[string]any{
					"rules": []any{map[string]any{"tools": []any{"*"}, "approve": "always"}}, "allowSelf": true,
				}},
			}},
			tool: "get_current_time", tools: 1, goesOn: "TOOL_STARTED",
			resolve: func(ctx context.Context, p *parked) (func(context.Context) error, error) { return p.approve(ctx) },
		},
	}
}

// resumed takes P14: from the request that brings what a parked turn waits for to the turn's next step at a subscriber.
func (b *bench) resumed(ctx context.Context, kind string) error {
	for _, k := range waitKinds() {
		at, err := b.newPlace(ctx, kind)
		if err != nil {
			return err
		}
		with := setup()
		with.Orgs, with.Agent = 1, k.agent
		s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if err := s.end(ctx, s.takeResumed(ctx, k)); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	b.run.Add(report.Figure{
		ID: "P14", Database: kind, Name: resumedFigure("signal"), Unit: "ms", Gate: report.AtMost(50), Target: report.AtMost(10),
		Absent: true, Note: "not taken: the product has no processes yet that signals would reach",
	})
	return nil
}

func resumedFigure(of string) string { return of + " → the parked turn's next step, p99" }

func (s *system) takeResumed(ctx context.Context, kind waitKind) error {
	count := waitTurns
	if s.small {
		count = turnsPerSession
	}
	var resumed, running, answered []float64
	begun := time.Now()
	before, err := s.cpu()
	if err != nil {
		return err
	}
	for set := range count/turnsPerSession + 1 { // the first one only warms up
		conversations, err := openConversations(ctx, s.api, 1)
		if err != nil {
			return err
		}
		p := park(conversations[0])
		for range turnsPerSession {
			time.Sleep(pause)
			t, err := p.turn(ctx, kind)
			if err != nil {
				return errors.Join(err, closeConversations(conversations))
			}
			if set > 0 {
				resumed, running, answered = append(resumed, millis(t.resumed)), append(running, millis(t.running)), append(answered, millis(t.answered))
			}
			s.resumes++
		}
		if err := closeConversations(conversations); err != nil {
			return err
		}
		s.countConversations(armProduct, conversations)
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	s.add(report.Figure{
		ID: "P14", Name: resumedFigure(kind.name), Unit: "ms", Value: report.Quantile(running, 0.99),
		Gate: report.AtMost(50), Target: report.AtMost(10), Foreign: after.foreign(before, time.Since(begun)),
		Note: fmt.Sprintf("%s at a subscriber, p50 %.2f ms; TURN_RESUMED p50 %.2f, p99 %.2f ms; the request's answer p50 %.2f ms; %d turns",
			kind.goesOn, report.Median(running), report.Median(resumed), report.Quantile(resumed, 0.99), report.Median(answered), len(running)),
	})
	return nil
}

// parked is a session whose turns wait.
type parked struct {
	*conversation

	api    *apiclient.Client
	id     string          // of the session
	turnID string          // of the present turn
	events chan parkedWhen // what tells how the present turn stands
	calls  []string        // that the present turn has asked the caller for
}

// parkedWhen is an event and when it came, since begin.
type parkedWhen struct {
	kind  string
	calls []string
	at    time.Duration
}

// park watches a conversation of the product.
func park(c *conversation) *parked {
	p := &parked{conversation: c, events: make(chan parkedWhen, 64)}
	if s, ok := c.session.(*client.ProductSession); ok {
		p.api, p.id = s.API, s.ID
	}
	c.watch(func(e client.Event) {
		when := parkedWhen{kind: e.Kind, at: time.Since(begin)}
		switch e.Kind {
		case "TOOL_CALLS_REQUESTED":
			when.calls = requestedCalls(e.Data)
		case "TURN_WAITING", "TURN_RESUMED", "TOOL_STARTED", "REASON_STARTED":
		default:
			return
		}
		select {
		case p.events <- when:
		default: // a turn that says so much is stuck, and is found to be
		}
	})
	return p
}

// requestedCalls returns the ids of the calls that TOOL_CALLS_REQUESTED tells of.
func requestedCalls(data []byte) []string {
	var requested struct {
		ToolCalls []struct{ ToolCallID string }
	}
	if json.Unmarshal(data, &requested) != nil {
		return nil
	}
	ids := make([]string, 0, len(requested.ToolCalls))
	for _, call := range requested.ToolCalls {
		ids = append(ids, call.ToolCallID)
	}
	return ids
}

// resumeTimes are since the request that ended the wait was begun.
type resumeTimes struct{ answered, resumed, running time.Duration }

// turn runs a turn that waits once.
func (p *parked) turn(ctx context.Context, kind waitKind) (resumeTimes, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	message := fmt.Sprintf(`{"responses":[{"chunks":[{"tool_call":{"name":%q}}]},{"chunks":[{"text":%q}]}]}`, kind.tool, answerText)
	type outcome struct {
		times resumeTimes
		err   error
	}
	accepted, waited := make(chan string, 1), make(chan outcome, 1)
	go func() {
		var o outcome
		select {
		case p.turnID = <-accepted:
			o.times, o.err = p.goOn(ctx, kind)
		case <-ctx.Done():
			o.err = ctx.Err()
		}
		if o.err != nil {
			cancel() // the turn would not end either
		}
		waited <- o
	}()
	_, err := p.turnOf(ctx, kind.tools, time.Now(), func() error {
		said, ok := p.session.(sayer)
		if !ok {
			return errNotAnyMessage
		}
		id, err := said.Say(ctx, message, client.Steer)
		if err == nil {
			accepted <- id
		}
		return err
	})
	if err != nil {
		cancel()
	}
	o := <-waited
	return o.times, errors.Join(err, o.err)
}

// goOn waits until the turn is parked, ends the wait, and tells how long it took until the turn ran again.
func (p *parked) goOn(ctx context.Context, kind waitKind) (t resumeTimes, err error) {
	p.calls = nil
	if _, err := p.until(ctx, "TURN_WAITING"); err != nil {
		return t, err
	}
	request, err := kind.resolve(ctx, p)
	if err != nil {
		return t, err
	}
	time.Sleep(pause) // what the runner still did for the turn is over
	sent := time.Since(begin)
	if err := request(ctx); err != nil {
		return t, err
	}
	t.answered = time.Since(begin) - sent
	at, err := p.until(ctx, "TURN_RESUMED")
	if err != nil {
		return t, err
	}
	t.resumed = at - sent
	at, err = p.until(ctx, kind.goesOn)
	t.running = at - sent
	return t, err
}

// until waits for an event of the turn and returns when it came.
func (p *parked) until(ctx context.Context, kind string) (time.Duration, error) {
	for {
		select {
		case e := <-p.events:
			p.calls = append(p.calls, e.calls...)
			if e.kind == kind {
				return e.at, nil
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("turn %s: no %s: %w", p.turnID, kind, ctx.Err())
		}
	}
}

// submitResult brings the result of the one call that the turn has asked the caller for.
func (p *parked) submitResult() (func(context.Context) error, error) {
	if len(p.calls) != 1 || p.calls[0] == "" {
		return nil, fmt.Errorf("turn %s waits for the results of %q, want one call", p.turnID, p.calls)
	}
	input := map[string]any{"turnId": p.turnID, "results": []any{map[string]any{"toolCallId": p.calls[0], "result": map[string]any{"answer": "Yes."}}}}
	return func(ctx context.Context) error {
		return p.api.Do(ctx, `mutation($input: SubmitToolResultsInput!) { submitToolResults(input: $input) { turn { id } userErrors { code message path } } }`,
			map[string]any{"input": input}, nil)
	}, nil
}

// approve approves the one call that the turn waits with.
func (p *parked) approve(ctx context.Context) (func(context.Context) error, error) {
	var found struct {
		Session *struct {
			Waits []struct{ ID, Kind, ToolCallID string }
		}
	}
	if err := p.api.Do(ctx, `query($id: ID!) { session(id: $id) { waits { id kind toolCallId } } }`, map[string]any{"id": p.id}, &found); err != nil {
		return nil, err
	}
	if found.Session == nil || len(found.Session.Waits) != 1 || found.Session.Waits[0].Kind != "APPROVAL" {
		return nil, fmt.Errorf("turn %s waits for %+v, want one approval", p.turnID, found.Session)
	}
	input := map[string]any{"waitId": found.Session.Waits[0].ID, "approve": true}
	return func(ctx context.Context) error {
		return p.api.Do(ctx, `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { wait { id state } userErrors { code message path } } }`,
			map[string]any{"input": input}, nil)
	}, nil
}
