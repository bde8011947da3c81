package books

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/hold"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// UsageDifference is a sum of an hour that isn't that of the journal.
type UsageDifference struct {
	Org models.OrgID
	// Table is usage_hours or session_usage_hours, of which an hour differs, or payments or payment_days, of which a day does.
	Table string
	Hour  models.Millis
	// Row tells which row of the hour, by the columns of its key that are not empty.
	Row              string
	Column           string
	Stored, Computed int64
}

// String describes the difference to people.
func (d UsageDifference) String() string {
	return fmt.Sprintf("%s %s%s: %s: stored %d, computed %d",
		d.Table, d.Hour.Time().UTC().Format("2006-01-02T15Z"), d.Row, d.Column, d.Stored, d.Computed)
}

// sumKey is a row of either table, without organization and hour; the columns that a table doesn't have are zero.
type sumKey struct {
	session        models.SessionID
	model          models.ModelID
	agent          models.AgentID
	user           models.UserID
	customer, tool string
}

func (k sumKey) String() string {
	text := ""
	for _, part := range []struct {
		name string
		id   fmt.Stringer
		none bool
	}{
		{"session", k.session, k.session.IsZero()}, {"model", k.model, k.model.IsZero()}, {"agent", k.agent, k.agent.IsZero()},
		{"user", k.user, k.user.IsZero()},
	} {
		if !part.none {
			text += " " + part.name + "=" + part.id.String()
		}
	}
	if k.customer != "" {
		text += fmt.Sprintf(" customer=%q", k.customer)
	}
	if k.tool != "" {
		text += fmt.Sprintf(" tool=%q", k.tool)
	}
	return text
}

// hourSums are the sums of an hour as the journal has them.
type hourSums map[sumKey]models.UsageSums

// Usage compares the sums of an organization's hours with the journal: of the hours from a time until now. It tells how many hours were
// compared; those in which nothing was metered cost nothing. In the end it compares the payments of these days.
func (r *Reconciler) Usage(ctx context.Context, org models.OrgID, since models.Millis, show func(UsageDifference) error) (hours int, err error) {
	hour := since - since%usageHour
	for {
		next, err := r.nextHour(ctx, org, hour)
		if err != nil {
			return hours, err
		}
		if next == nil || *next > clock.Millis(r.clock) {
			return hours, r.payments(ctx, org, since, show)
		}
		hour = *next - *next%usageHour
		list, err := r.compareHour(ctx, org, hour)
		if err != nil {
			return hours, fmt.Errorf("reconcile the usage of %s: %w", org, err)
		}
		hours++
		for _, d := range list {
			if err := show(d); err != nil {
				return hours, err
			}
		}
		hour += usageHour
	}
}

// nextHour returns the first time from an hour on at which there is something to compare; nil for none.
func (r *Reconciler) nextHour(ctx context.Context, org models.OrgID, hour models.Millis) (first *models.Millis, err error) {
	db := r.db.Read(ctx, org)
	for _, look := range []struct {
		table  any
		column string
	}{{&models.JournalEntry{}, "occurred_at"}, {&models.UsageHour{}, "hour"}, {&models.SessionUsageHour{}, "hour"}} {
		var found []models.Millis
		q := store.Of(db.Model(look.table), org).Where(look.column+" >= ?", hour).Order(look.column).Limit(1)
		if err := q.Pluck(look.column, &found).Error; err != nil {
			return nil, fmt.Errorf("look for the hours of %s: %w", org, err)
		}
		if len(found) == 1 && (first == nil || found[0] < *first) {
			first = &found[0]
		}
	}
	return first, nil
}

func (r *Reconciler) compareHour(ctx context.Context, org models.OrgID, hour models.Millis) (list []UsageDifference, err error) {
	err = r.db.Snapshot(ctx, org, func(tx *gorm.DB) error {
		all, ofSessions, err := readHour(tx, org, hour)
		if err != nil {
			return err
		}
		var rows []models.UsageHour
		if err := store.Of(tx, org).Where("hour = ?", hour).Find(&rows).Error; err != nil {
			return err
		}
		stored := make(map[sumKey]models.UsageSums, len(rows))
		for _, u := range rows {
			stored[sumKey{model: u.ModelID, agent: u.AgentID, user: u.UserID, customer: u.CustomerKey, tool: u.Tool}] = u.UsageSums
		}
		list = all.compare(UsageDifference{Org: org, Table: "usage_hours", Hour: hour}, stored)
		var sessions []models.SessionUsageHour
		if err := store.Of(tx, org).Where("hour = ?", hour).Find(&sessions).Error; err != nil {
			return err
		}
		stored = make(map[sumKey]models.UsageSums, len(sessions))
		for _, u := range sessions {
			stored[sumKey{session: u.SessionID, model: u.ModelID, agent: u.AgentID, user: u.UserID, customer: u.CustomerKey, tool: u.Tool}] = u.UsageSums
		}
		list = append(list, ofSessions.compare(UsageDifference{Org: org, Table: "session_usage_hours", Hour: hour}, stored)...)
		return nil
	})
	return list, err
}

// readHour adds up the facts of an hour, in pages.
func readHour(tx *gorm.DB, org models.OrgID, hour models.Millis) (all, ofSessions hourSums, err error) {
	all, ofSessions = hourSums{}, hourSums{}
	var after *models.JournalEntry
	for {
		q := store.Of(tx, org).Where("occurred_at < ?", hour+usageHour)
		if after == nil {
			q = q.Where("occurred_at >= ?", hour)
		} else {
			q = q.Where("(occurred_at, id) > (?, ?)", after.OccurredAt, after.ID)
		}
		var page []models.JournalEntry
		if err := q.Order("occurred_at, id").Limit(reconcileRows).Find(&page).Error; err != nil {
			return nil, nil, fmt.Errorf("read the usage records: %w", err)
		}
		for i := range page {
			e := &page[i]
			k := sumKey{
				model: models.Value(e.ModelID), agent: models.Value(e.AgentID), user: models.Value(e.UserID),
				customer: models.Value(e.CustomerKey), tool: e.Tool,
			}
			all.add(k, e)
			if e.SessionID != nil {
				k.session = *e.SessionID
				ofSessions.add(k, e)
			}
		}
		if len(page) < reconcileRows {
			return all, ofSessions, nil
		}
		after = &page[len(page)-1]
	}
}

func (h hourSums) add(k sumKey, e *models.JournalEntry) {
	s, u := h[k], e.Usage
	switch e.Kind {
	case models.JournalTopUp, models.JournalAdjustment:
		return // nothing was used
	case models.JournalModelCall:
		s.ModelCalls++
		if u.Unpriced {
			s.UnpricedCalls++
		}
		if e.TurnID != nil && e.ID == hold.CallID(*e.TurnID, 1) {
			s.Turns++ // it counts in the hour of its first call
		}
	case models.JournalToolCall:
		s.ToolCalls++
	case models.JournalPayment:
	}
	s.InputTokens += u.InputTokens
	s.OutputTokens += u.OutputTokens
	s.CacheReadTokens += u.CacheReadTokens
	s.CacheWriteTokens += u.CacheWriteTokens
	s.ReasoningTokens += u.ReasoningTokens
	s.CostNanos += u.CostNanos
	h[k] = s
}

// compare returns what rows of the hour differ in. A row that is missing is one of nothing but zeros.
func (h hourSums) compare(at UsageDifference, stored map[sumKey]models.UsageSums) (list []UsageDifference) {
	keys := slices.Collect(maps.Keys(h))
	for k := range stored {
		if _, ok := h[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b sumKey) int { return cmp.Compare(a.String(), b.String()) })
	for _, k := range keys {
		have, want := stored[k], h[k]
		for _, c := range []struct {
			name       string
			have, want int64
		}{
			{"input_tokens", have.InputTokens, want.InputTokens}, {"output_tokens", have.OutputTokens, want.OutputTokens},
			{"cache_read_tokens", have.CacheReadTokens, want.CacheReadTokens}, {"cache_write_tokens", have.CacheWriteTokens, want.CacheWriteTokens},
			{"reasoning_tokens", have.ReasoningTokens, want.ReasoningTokens}, {"cost_nanos", int64(have.CostNanos), int64(want.CostNanos)},
			{"unpriced_calls", have.UnpricedCalls, want.UnpricedCalls}, {"model_calls", have.ModelCalls, want.ModelCalls},
			{"tool_calls", have.ToolCalls, want.ToolCalls}, {"turns", have.Turns, want.Turns},
		} {
			if c.have != c.want {
				d := at
				d.Row, d.Column, d.Stored, d.Computed = k.String(), c.name, c.have, c.want
				list = append(list, d)
			}
		}
	}
	return list
}
