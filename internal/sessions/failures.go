package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxIntervals is how many intervals failures are counted by at most.
const maxIntervals = 400

// failed is a condition on turns: they failed or were sealed, and are not those of trials, which say nothing about the agents as they are. It is
// written out, not a parameter: the indexes are of such turns only, and are used only when that is known.
const failed = "status IN ('FAILED', 'SEALED') AND NOT EXISTS " +
	"(SELECT 1 FROM sessions o WHERE o.org_id = turns.org_id AND o.id = turns.session_id AND o.trial = true)"

// FailureFilter tells which turns that failed or were sealed are listed; all conditions must hold.
type FailureFilter struct {
	Code *string
	// They ended at From or later, and before To.
	From, To *models.Millis
}

// FailurePlace is where a turn stands among those that failed.
type FailurePlace struct {
	At models.Millis
	ID models.TurnID
}

// FailedTurns returns up to limit turns that failed or were sealed, the newest end first, behind a place.
func (s *Service) FailedTurns(ctx context.Context, org models.OrgID, f FailureFilter, after *FailurePlace, limit int) ([]models.Turn, error) {
	q := s.failedTurns(ctx, org, f)
	if after != nil {
		q = q.Where("(finished_at, id) < (?, ?)", after.At, after.ID)
	}
	var list []models.Turn
	if err := q.Order("finished_at DESC, id DESC").Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list failed turns: %w", err)
	}
	return list, nil
}

// CountFailedTurns counts turns that failed or were sealed, as far as one more than 10 000.
func (s *Service) CountFailedTurns(ctx context.Context, org models.OrgID, f FailureFilter) (int, error) {
	return count(s.failedTurns(ctx, org, f).Model(&models.Turn{}))
}

func (s *Service) failedTurns(ctx context.Context, org models.OrgID, f FailureFilter) *gorm.DB {
	q := s.of(ctx, org).Where(failed)
	if f.Code != nil {
		q = q.Where("error->>'code' = ?", *f.Code)
	}
	if f.From != nil {
		q = q.Where("finished_at >= ?", *f.From)
	}
	if f.To != nil {
		q = q.Where("finished_at < ?", *f.To)
	}
	return q
}

// FailureGroup is the turns that failed or were sealed with the same code.
type FailureGroup struct {
	Code     string
	Turns    int
	LatestAt models.Millis
	// Counts has how many ended in each interval that has any, oldest first.
	Counts []FailureCount
}

// FailureCount is how many turns failed in the interval that begins at a time.
type FailureCount struct {
	At    models.Millis
	Turns int
}

// FailureReport is the failures of a period, those with the most first.
type FailureReport struct {
	Groups []FailureGroup
	// CountedFrom is the end of the oldest turn that was counted, when there are too many to count; else nil.
	CountedFrom *models.Millis
}

// countedFailures is a statement that groups the newest failures of a period: it goes through so many entries of an index, however many
// turns there are.
const countedFailures = `SELECT code, slot, count(*) AS turns, min(finished_at) AS oldest, max(finished_at) AS newest FROM (
	SELECT error->>'code' AS code, finished_at / ? AS slot, finished_at FROM turns
	WHERE org_id = ? AND ` + failed + ` AND finished_at >= ? AND finished_at < ? ORDER BY finished_at DESC LIMIT ?) f
	GROUP BY code, slot ORDER BY slot, code`

// Failures counts the turns that failed or were sealed from a time until before another one, by code and interval of UTC. It counts the
// newest 10 000.
func (s *Service) Failures(ctx context.Context, org models.OrgID, from, to models.Millis, interval time.Duration) (FailureReport, error) {
	var r FailureReport
	if from >= to {
		return r, fault.New(fault.Invalid, "from must be before to.").At("from")
	}
	slot := models.Millis(interval.Milliseconds())
	if to-from > maxIntervals*slot {
		return r, fault.New(fault.Invalid, "Failures are counted in at most %d intervals. Choose a later from, an earlier to, or longer intervals.", maxIntervals).At("from")
	}
	var rows []struct {
		Code           string
		Slot           models.Millis
		Turns          int
		Oldest, Newest models.Millis
	}
	if err := s.cfg.DB.Read(ctx, org).Raw(countedFailures, slot, org, from, to, maxCount+1).Scan(&rows).Error; err != nil {
		return r, fmt.Errorf("count failures: %w", err)
	}
	at, total, oldest := map[string]int{}, 0, to
	for _, row := range rows {
		i, known := at[row.Code]
		if !known {
			i = len(r.Groups)
			at[row.Code] = i
			r.Groups = append(r.Groups, FailureGroup{Code: row.Code})
		}
		g := &r.Groups[i]
		g.Turns += row.Turns
		g.LatestAt = max(g.LatestAt, row.Newest)
		g.Counts = append(g.Counts, FailureCount{At: row.Slot * slot, Turns: row.Turns})
		total, oldest = total+row.Turns, min(oldest, row.Oldest)
	}
	if total > maxCount {
		r.CountedFrom = &oldest
	}
	slices.SortStableFunc(r.Groups, func(a, b FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.Code, b.Code))
	})
	return r, nil
}
