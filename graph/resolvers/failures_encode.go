package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func encodeFailures(r *sessions.FailureReport) *model.FailureReport {
	report := &model.FailureReport{Groups: make([]*model.FailureGroup, len(r.Groups)), CountedFrom: r.CountedFrom}
	for i, g := range r.Groups {
		counts := make([]*model.FailureCount, len(g.Counts))
		for j, c := range g.Counts {
			counts[j] = &model.FailureCount{StartsAt: c.At, Turns: c.Turns}
		}
		report.Groups[i] = &model.FailureGroup{Code: g.Code, Turns: g.Turns, LatestAt: g.LatestAt, Counts: counts}
	}
	return report
}
