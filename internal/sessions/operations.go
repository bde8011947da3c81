package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// measuredTurns is how many turns percentiles are taken of at most: more would hardly move them.
	measuredTurns = 2000
	// mostAgents is how many agents a report names by cost, and by failures.
	mostAgents = 5

	hourMillis = models.Millis(time.Hour / time.Millisecond)
)

// Operations is how the turns of an organization went in a period.
type Operations struct {
	// Total is of all agents.
	Total AgentOperations
	// CountedFrom is the end of the oldest failure that was counted, when there are too many to count; else nil.
	CountedFrom *models.Millis
	// Hours are those in which a turn began or failed, oldest first.
	Hours []OperationsHour
	// Duration is from start to end, FirstToken from the message to the first text; nil where none is measured.
	Duration, FirstToken *Percentiles
	// ByCost and ByFailures are the agents with most of it, the most first.
	ByCost, ByFailures []AgentOperations
}

// OperationsHour is how many turns began in an hour, and how many failed.
type OperationsHour struct {
	At     models.Millis
	Turns  int64
	Failed int
}

// AgentOperations is how the turns of an agent went; of sessions without one, Agent is zero.
type AgentOperations struct {
	Agent  models.AgentID
	Turns  int64
	Failed int
	Usage  models.Usage
}

// Percentiles are of times in milliseconds.
type Percentiles struct {
	P50, P95 int64
	// Measured is how many times they are of.
	Measured int
}

// The statements of a report. One is on the sums of usage by the hour. The others go through so many entries of an index, however many turns
// there are: of the failures by their end, and of the primary key, whose ids begin with the time at which they were made.
const (
	usageByHourAndAgent = `SELECT hour, agent_id, CAST(sum(turns) AS bigint), CAST(sum(input_tokens) AS bigint), CAST(sum(output_tokens) AS bigint),
		CAST(sum(cache_read_tokens) AS bigint), CAST(sum(cache_write_tokens) AS bigint), CAST(sum(reasoning_tokens) AS bigint),
		CAST(sum(cost_nanos) AS bigint), CAST(sum(unpriced_calls) AS bigint)
		FROM usage_hours WHERE org_id = ? AND hour >= ? AND hour < ? GROUP BY hour, agent_id`

	// The agent is looked up turn by turn: a join might go through all sessions instead.
	newestFailures = `SELECT id, finished_at, model_calls, (SELECT s.agent_id FROM sessions s WHERE s.org_id = ? AND s.id = turns.session_id) AS agent_id
		FROM turns WHERE org_id = ? AND ` + failed + ` AND finished_at >= ? AND finished_at < ? ORDER BY finished_at DESC LIMIT ?`

	newestTurns = `SELECT status, queued_at, started_at, first_token_at, finished_at FROM turns
		WHERE org_id = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`
)

// Operations reports how the turns went from a time until before another one, in whole hours of UTC.
func (s *Service) Operations(ctx context.Context, org models.OrgID, from, to models.Millis) (*Operations, error) {
	if from >= to {
		return nil, fault.New(fault.Invalid, "from must be before to.").At("from")
	}
	if to-from > maxIntervals*hourMillis {
		return nil, fault.New(fault.Invalid, "from and to must be at most %d hours apart.", maxIntervals).At("from")
	}
	from, to = max(from, 0)/hourMillis*hourMillis, (max(to, 1)+hourMillis-1)/hourMillis*hourMillis
	t := operationsSum{hours: map[models.Millis]*OperationsHour{}, agents: map[models.AgentID]*AgentOperations{}}
	if err := s.addUsage(ctx, org, from, to, &t); err != nil {
		return nil, err
	}
	if err := s.addFailures(ctx, org, from, to, &t); err != nil {
		return nil, err
	}
	r := t.report()
	var err error
	r.Duration, r.FirstToken, err = s.measure(ctx, org, from, to)
	return r, err
}

func (s *Service) addUsage(ctx context.Context, org models.OrgID, from, to models.Millis, t *operationsSum) error {
	err := s.cfg.DB.Query(ctx, org, func(row store.Row) error {
		var hour models.Millis
		var agent models.AgentID
		var turns, unpriced int64
		var u models.Usage
		if err := row.Scan(&hour, &agent, &turns, &u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens,
			&u.CostNanos, &unpriced); err != nil {
			return err //nolint:wrapcheck // it is said below what was read
		}
		u.Unpriced = unpriced > 0
		h, a := t.hour(hour), t.agent(agent)
		h.Turns, a.Turns, a.Usage = h.Turns+turns, a.Turns+turns, a.Usage.Add(u)
		return nil
	}, usageByHourAndAgent, org[:], from, to)
	if err != nil {
		return fmt.Errorf("add up usage by hour and agent: %w", err)
	}
	return nil
}

// failure is a turn that failed.
type failure struct {
	ID         models.TurnID
	FinishedAt models.Millis
	ModelCalls int
	AgentID    models.AgentID
}

func (s *Service) addFailures(ctx context.Context, org models.OrgID, from, to models.Millis, t *operationsSum) error {
	var rows []failure
	if err := s.cfg.DB.Read(ctx, org).Raw(newestFailures, org, org, from, to, maxCount+1).Scan(&rows).Error; err != nil {
		return fmt.Errorf("read failures: %w", err)
	}
	if len(rows) > maxCount {
		rows = rows[:maxCount]
		t.countedFrom = &rows[maxCount-1].FinishedAt
	}
	metered, err := s.metered(ctx, org, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		h, a := t.hour(rows[i].FinishedAt/hourMillis*hourMillis), t.agent(rows[i].AgentID)
		h.Failed++
		a.Failed++
		// Turns whose first model call took nothing are in no sum of usage.
		if !metered[hold.CallID(rows[i].ID, 1)] {
			h.Turns++
			a.Turns++
		}
	}
	return nil
}

// factsAtOnce is how many facts one statement looks for.
const factsAtOnce = 500

// metered returns the facts that there are of the first model calls of turns.
func (s *Service) metered(ctx context.Context, org models.OrgID, turns []failure) (map[models.JournalID]bool, error) {
	var ids []models.JournalID
	for i := range turns {
		if turns[i].ModelCalls > 0 {
			ids = append(ids, hold.CallID(turns[i].ID, 1))
		}
	}
	found := make(map[models.JournalID]bool, len(ids))
	for some := range slices.Chunk(ids, factsAtOnce) {
		var list []models.JournalID
		if err := s.of(ctx, org).Model(&models.JournalEntry{}).Where("id IN ?", some).Pluck("id", &list).Error; err != nil {
			return nil, fmt.Errorf("look for the facts of model calls: %w", err)
		}
		for _, id := range list {
			found[id] = true
		}
	}
	return found, nil
}

// measure takes the percentiles of the newest turns that were made in the period. What somebody has cancelled says nothing of how long turns take.
func (s *Service) measure(ctx context.Context, org models.OrgID, from, to models.Millis) (duration, firstToken *Percentiles, err error) {
	var rows []struct {
		Status                              models.TurnStatus
		QueuedAt                            models.Millis
		StartedAt, FirstTokenAt, FinishedAt *models.Millis
	}
	if err := s.cfg.DB.Read(ctx, org).Raw(newestTurns, org, firstIDOf[models.TurnEntity](from), firstIDOf[models.TurnEntity](to), measuredTurns).Scan(&rows).Error; err != nil {
		return nil, nil, fmt.Errorf("read the times of turns: %w", err)
	}
	var durations, firsts []int64
	for _, row := range rows {
		if row.FinishedAt == nil || row.StartedAt == nil || row.Status == models.TurnCancelled {
			continue
		}
		durations = append(durations, int64(max(*row.FinishedAt-*row.StartedAt, 0)))
		if row.FirstTokenAt != nil {
			firsts = append(firsts, int64(max(*row.FirstTokenAt-row.QueuedAt, 0)))
		}
	}
	return percentilesOf(durations), percentilesOf(firsts), nil
}

// percentilesOf returns the nearest ranks; nil of nothing.
func percentilesOf(times []int64) *Percentiles {
	n := len(times)
	if n == 0 {
		return nil
	}
	slices.Sort(times)
	rank := func(percent int) int64 { return times[(n*percent+99)/100-1] }
	return &Percentiles{P50: rank(50), P95: rank(95), Measured: n}
}

// operationsSum is a report in the making.
type operationsSum struct {
	hours       map[models.Millis]*OperationsHour
	agents      map[models.AgentID]*AgentOperations
	countedFrom *models.Millis
}

func (t *operationsSum) hour(at models.Millis) *OperationsHour {
	if t.hours[at] == nil {
		t.hours[at] = &OperationsHour{At: at}
	}
	return t.hours[at]
}

func (t *operationsSum) agent(id models.AgentID) *AgentOperations {
	if t.agents[id] == nil {
		t.agents[id] = &AgentOperations{Agent: id}
	}
	return t.agents[id]
}

func (t *operationsSum) report() *Operations {
	r := &Operations{CountedFrom: t.countedFrom}
	for _, h := range t.hours {
		r.Hours = append(r.Hours, *h)
	}
	slices.SortFunc(r.Hours, func(a, b OperationsHour) int { return cmp.Compare(a.At, b.At) })
	all := make([]AgentOperations, 0, len(t.agents))
	for _, a := range t.agents {
		all = append(all, *a)
		r.Total.Turns, r.Total.Failed, r.Total.Usage = r.Total.Turns+a.Turns, r.Total.Failed+a.Failed, r.Total.Usage.Add(a.Usage)
	}
	r.ByCost = topAgents(all, func(a *AgentOperations) int64 { return int64(a.Usage.CostNanos) })
	r.ByFailures = topAgents(all, func(a *AgentOperations) int64 { return int64(a.Failed) })
	return r
}

// topAgents returns those with most of something, without those that have none.
func topAgents(all []AgentOperations, of func(*AgentOperations) int64) []AgentOperations {
	list := slices.DeleteFunc(slices.Clone(all), func(a AgentOperations) bool { return of(&a) == 0 })
	slices.SortFunc(list, func(a, b AgentOperations) int {
		return cmp.Or(cmp.Compare(of(&b), of(&a)), cmp.Compare(b.Turns, a.Turns), slices.Compare(a.Agent[:], b.Agent[:]))
	})
	return list[:min(len(list), mostAgents)]
}
