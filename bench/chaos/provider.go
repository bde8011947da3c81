package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

// provider is a model provider that speaks OpenAI's Chat Completions API. Messages tell it how many rounds of tools a turn has. It
// makes up what its answers took, now and then more than it was asked to take, and remembers all that it has said.
type provider struct {
	a    *arena
	url  string
	http *http.Server

	mu     sync.Mutex
	dice   *rand.Rand
	served []*served
	told   map[models.TurnID]map[took]bool
	failed []string
}

// took is what an answer says that it took. No two answers of a turn say the same, so that the journal tells which one it has.
type took struct{ input, output int64 }

// served is a call that has reached the provider.
type served struct {
	turn    models.TurnID
	took    took
	arrived time.Time
	// whole is true when the whole answer was sent, to a caller who was still there.
	whole bool
	// held is what the turn held of each budget when the call came.
	held map[models.BudgetID]models.Amount
}

// The prices of the provider's model, in 10^-9 dollars per token.
const (
	nanosInput, nanosOutput = 1000, 5000
	// mostOutput is the model's own output limit.
	mostOutput = 600
)

// cost returns what a call takes of a currency.
func (t took) cost(currency string) models.Amount {
	switch currency {
	case models.CurrencyUSD:
		return models.Amount(t.input*nanosInput + t.output*nanosOutput)
	case models.CurrencyTokens:
		return models.Amount(t.input + t.output)
	}
	return 0
}

// startProvider starts a provider on a port of its own.
func (a *arena) startProvider(ctx context.Context) (*provider, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{a: a, url: "http://" + l.Addr().String(), dice: rand.New(rand.NewPCG(a.seed, 9)), told: map[models.TurnID]map[took]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.complete)
	p.http = &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	// What the nodes keep open is no part of what this program looks at.
	p.http.SetKeepAlivesEnabled(false)
	go func() { _ = p.http.Serve(l) }()
	return p, nil
}

func (p *provider) close() { _ = p.http.Close() }

// asked is what is read of a request.
type asked struct {
	MaxTokens int64 `json:"max_tokens"`
	Messages  []struct {
		Role    string
		Content json.RawMessage
	}
}

// rounds returns how many rounds of tools the newest message wants and how many were, and the session that it was sent to.
func (q *asked) rounds() (want, done int, session string) {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		m := q.Messages[i]
		switch m.Role {
		case "assistant":
			done++
		case "user":
			// Where turns have ended without an answer, several messages come as one.
			if at := strings.LastIndex(string(m.Content), ordered); at >= 0 {
				_, _ = fmt.Sscanf(string(m.Content[at:]), order, &want, &session)
				return want, done, session
			}
		}
	}
	return 0, done, ""
}

// A message orders so many rounds of tools. It names its session, for which the load puts it in.
const (
	ordered = "Please write down "
	order   = ordered + "%d times in %s ."
)

// complete answers a call.
func (p *provider) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asks was killed in the midst of it
	}
	var q asked
	err = json.Unmarshal(body, &q)
	want, done, session := q.rounds()
	if err != nil || session == "" {
		p.failf("a request can't be understood: %v: %.300s", err, body)
		http.Error(w, "what is this?", http.StatusBadRequest)
		return
	}
	call, err := p.note(r.Context(), session, int64(len(body)), q.MaxTokens)
	if err != nil {
		if r.Context().Err() == nil {
			p.failf("it can't be told what is held for a call in %s: %v", session, err)
		}
		http.Error(w, "nobody is there", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for i, delta := range p.answer(want, done) {
		p.pause(r.Context(), 80/(i+1))
		if _, err = fmt.Fprintf(w, "data: %s\n\n", delta); err == nil {
			err = out.Flush()
		}
		if err != nil {
			return
		}
	}
	_, err = fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n",
		call.took.input, call.took.output, call.took.input+call.took.output)
	if err == nil {
		err = out.Flush()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	call.whole = err == nil && r.Context().Err() == nil
}

// answer returns the parts of an answer: calls of tools while there is a round to go, else the last words.
func (p *provider) answer(want, done int) []string {
	if done >= want {
		return []string{
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":"It is written. "}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("The ostler leads the horses out at dawn. ", p.roll(1, 4)) + `"}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		}
	}
	parts := []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Let me write that down."}}]}`}
	for i := range p.roll(1, 2) {
		name := "append_idempotent"
		if i == 0 && p.roll(0, 1) == 0 {
			name = "append_once"
		}
		arguments := fmt.Sprintf(`{"before_ms":%d,"after_ms":%d}`, p.roll(0, 30), p.roll(0, 30))
		parts = append(parts, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call_%d_%d","type":"function",`+
			`"function":{"name":%q,"arguments":%q}}]}}]}`, i, done, i, name, arguments))
	}
	return append(parts, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
}

// note decides what the answer takes, and remembers it with what is held for it: that was committed before the call was made.
func (p *provider) note(ctx context.Context, session string, bytes, limit int64) (*served, error) {
	id, err := models.ParseID[models.SessionEntity](session)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ID          models.TurnID
		Reservation models.JSON
	}
	if err := p.a.query(ctx, &rows, `SELECT t.id, t.reservation FROM sessions s JOIN turns t ON t.org_id = s.org_id AND t.id = s.current_turn_id
		WHERE s.id = ?`, id); err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("it has %d current turns", len(rows))
	}
	var r models.Reservation
	if len(rows[0].Reservation) > 0 {
		if err := json.Unmarshal(rows[0].Reservation, &r); err != nil {
			return nil, err
		}
	}
	c := &served{turn: rows[0].ID, arrived: time.Now(), held: map[models.BudgetID]models.Amount{}}
	for _, line := range r.Lines {
		c.held[line.Budget] += line.Amount
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	told := p.told[c.turn]
	if told == nil {
		told = map[took]bool{}
		p.told[c.turn] = told
	}
	for again := true; again; again = told[c.took] {
		c.took = p.makeUp(bytes, limit)
	}
	told[c.took] = true
	p.served = append(p.served, c)
	return c, nil
}

// makeUp returns what an answer took: mostly less than it may, one in twenty times a multiple.
func (p *provider) makeUp(bytes, limit int64) took {
	if limit == 0 {
		limit = mostOutput
	}
	t := took{input: bytes/5 + p.dice.Int64N(200), output: 20 + p.dice.Int64N(max(1, min(limit, 250)-20))}
	switch p.dice.IntN(40) {
	case 0:
		t.output += 3 * limit
	case 1:
		t.input += 2 * bytes
	}
	return t
}

func (p *provider) roll(least, most int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return least + p.dice.IntN(most-least+1)
}

func (p *provider) pause(ctx context.Context, most int) {
	wait(ctx, time.Duration(p.roll(most/4, most))*time.Millisecond)
}

func (p *provider) failf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, fmt.Sprintf(format, args...))
}

// byTurn returns what was served, by turn, when nothing is asked any more.
func (p *provider) byTurn() map[models.TurnID]map[took]*served {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[models.TurnID]map[took]*served{}
	for turn := range maps.Keys(p.told) {
		all[turn] = map[took]*served{}
	}
	for _, c := range p.served {
		all[c.turn][c.took] = c
	}
	return all
}
