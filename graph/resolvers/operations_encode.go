package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func encodeOperations(o *sessions.Operations, l *loaders) *model.Operations {
	out := &model.Operations{
		Turns: o.Total.Turns, FailedTurns: o.Total.Failed, CountedFrom: o.CountedFrom, Hours: make([]*model.OperationsHour, len(o.Hours)),
		Duration: encodePercentiles(o.Duration), TimeToFirstToken: encodePercentiles(o.FirstToken), Usage: encodeUsage(o.Total.Usage),
		AgentsByCost: encodeAgentOperations(o.ByCost, l), AgentsByFailures: encodeAgentOperations(o.ByFailures, l),
	}
	for i, h := range o.Hours {
		out.Hours[i] = &model.OperationsHour{StartsAt: h.At, Turns: h.Turns, FailedTurns: h.Failed}
	}
	return out
}

func encodePercentiles(p *sessions.Percentiles) *model.Percentiles {
	if p == nil {
		return nil
	}
	return &model.Percentiles{P50Ms: p.P50, P95Ms: p.P95, Measured: p.Measured}
}

func encodeAgentOperations(list []sessions.AgentOperations, l *loaders) []*model.AgentOperations {
	out := make([]*model.AgentOperations, len(list))
	for i := range list {
		a := &list[i]
		out[i] = &model.AgentOperations{AgentID: a.Agent.Ptr(), Turns: a.Turns, FailedTurns: a.Failed, Usage: encodeUsage(a.Usage)}
		l.agents.expect(out[i].AgentID)
	}
	return out
}
