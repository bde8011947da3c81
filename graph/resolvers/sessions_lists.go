package resolvers

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

func decodeFilter(in *model.SessionFilter) (sessions.Filter, error) {
	var f sessions.Filter
	if in == nil {
		return f, nil
	}
	f.AgentID, f.HarnessID, f.ModelID = named[models.AgentEntity](in.AgentID), named[models.HarnessEntity](in.HarnessID), named[models.ModelEntity](in.ModelID)
	f.Status = distinct[models.SessionStatus](in.Status)
	f.Tag, f.CustomerKey, f.Search, f.Failed, f.RatedDown = in.Tag, in.CustomerKey, in.Search, in.Failed, in.RatedDown
	f.Trial = in.Trial != nil && *in.Trial
	f.CreatedAfter, f.CreatedBefore = in.CreatedAfter, in.CreatedBefore
	f.Outcome, f.MinDuration, f.MaxDuration = (*models.TurnStatus)(in.Outcome), in.MinDurationMs, in.MaxDurationMs
	for _, c := range []struct {
		in    *decimal.Decimal
		to    **models.Nanos
		field string
	}{{in.MinCostUsd, &f.MinCost, "minCostUsd"}, {in.MaxCostUsd, &f.MaxCost, "maxCostUsd"}} {
		if c.in == nil {
			continue
		}
		amount, err := budget.Parse(models.CurrencyUSD, *c.in)
		if err != nil {
			return f, fault.New(fault.Invalid, "%s.", err).At("filter", c.field)
		}
		*c.to = new(models.Nanos(amount))
	}
	return f, nil
}

// named reads an id by which a list is filtered. What is no id names nothing, and nothing has the zero id.
func named[E models.Entity](text *string) *models.ID[E] {
	if text == nil {
		return nil
	}
	id, _ := models.ParseID[E](*text)
	return &id
}

func decodeSorting(by *model.SessionOrder, direction *model.SortOrder) sessions.Sorting {
	s := sessions.Sorting{Ascending: direction != nil && *direction == model.SortOrderAsc}
	if by == nil {
		return s
	}
	switch *by {
	case model.SessionOrderActivity:
		s.By = sessions.ByActivity
	case model.SessionOrderCost:
		s.By = sessions.ByCost
	case model.SessionOrderDuration:
		s.By = sessions.ByDuration
	case model.SessionOrderCreated:
	}
	return s
}

func (r *Resolver) sessionsBy(
	ctx context.Context, first *int, after *string, f sessions.Filter, by sessions.Sorting,
) (*model.SessionConnection, error) {
	w, err := newWindow(pageArgs{First: first, After: after}, 20, func(cursor string) (sessions.Place, *fault.Error) { return decodeSessionCursor(by.By, cursor) })
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	rows, err := r.Sessions.List(ctx, org, f, by, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	cursor := func(l *sessions.Listed) string { return sessionCursor(by.By, l.Place()) }
	encode := r.encodeSession(ctx)
	return connection(rows, w, cursor, func(l *sessions.Listed) *model.Session { return encode(&l.Session) },
		func() (int, error) { return r.Sessions.Count(ctx, org, f) }), nil
}

// sessionCursor returns the cursor of a session in an order. Each order has a kind of its own; that of creation is ids alone.
func sessionCursor(by sessions.Order, at sessions.Place) string {
	if by == sessions.ByCreation {
		return idCursor(at.ID)
	}
	return encodeCursor(string(by), append(binary.BigEndian.AppendUint64(nil, uint64(at.Value)), at.ID[:]...)) //nolint:gosec // G115: the bits come back as they went
}

// decodeSessionCursor reads a cursor of sessionCursor.
func decodeSessionCursor(by sessions.Order, cursor string) (sessions.Place, *fault.Error) {
	if by == sessions.ByCreation {
		id, err := decodeIDCursor[models.SessionEntity](cursor)
		return sessions.Place{ID: id}, err
	}
	key, err := decodeCursor(string(by), cursor, 8+16)
	if err != nil {
		return sessions.Place{}, err
	}
	return sessions.Place{
		Value: int64(binary.BigEndian.Uint64(key)), //nolint:gosec // G115: the bits come back as they went
		ID:    models.SessionID(key[8:]),
	}, nil
}

// encodeSession returns what encodes sessions of a list, whose edges may be asked for.
func (r *Resolver) encodeSession(ctx context.Context) func(*models.Session) *model.Session {
	expected := r.loadersOf(ctx)
	return func(row *models.Session) *model.Session {
		expected.expectSession(row)
		return encodeSession(row)
	}
}

func (r *Resolver) messagePage(ctx context.Context, session *model.Session, args pageArgs) (*model.MessageConnection, error) {
	w, err := newWindow(args, 50, decodeSequenceCursor)
	if err != nil {
		return nil, err
	}
	org, id, base := auth.FromContext(ctx).OrgID, session.SessionID, int64(session.ForkedThrough)
	expected := r.loadersOf(ctx)
	var rows []models.Message
	switch ends := base == 0 && w.After == nil && w.Before == nil; {
	case ends && w.Backward:
		rows, _, err = expected.lastMessages.page(w.Limit+1, expected.expectMessage).load(ctx, id)
	case ends:
		rows, _, err = expected.firstMessages.page(w.Limit+1, expected.expectMessage).load(ctx, id)
	default:
		rows, err = r.Sessions.Messages(ctx, org, id, base, w.After, w.Before, w.Backward, w.Limit+1)
	}
	if err != nil {
		return nil, err
	}
	rows = slices.Clone(rows) // connection turns them around, and others may have the same page
	return connection(rows, w, func(m *models.Message) string { return sequenceCursor(m.Sequence) }, func(row *models.Message) *model.Message {
		expected.expectMessage(row)
		return encodeMessage(*row)
	}, func() (int, error) {
		if base > 0 {
			return r.Sessions.CountMessages(ctx, org, id, base)
		}
		return expected.firstMessages.count(ctx, id)
	}), nil
}
