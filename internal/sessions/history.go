package sessions

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// The lists of a session's turns and messages go on in the sessions that it was forked from. Its base, which is in its row, reports whether
// there are any: lists of other sessions cost nothing more. Through it they hold what ended, or had joined the conversation, by the end of
// the piece that the fork has.

// history is a table of what happened in sessions.
type history struct {
	table string
	// order is the column with the place in the history; joined is a condition on the last sequence of the piece, if there is more
	// to meet than that the place lies in it.
	order, joined string
}

var (
	pastTurns    = history{table: "turns", order: "ended_sequence"}
	pastMessages = history{table: "messages", order: "sequence", joined: " AND position <= ?"}
)

// Turns returns up to limit turns of a session by age, past the one with the given id. Those that it has from others have all ended, and come
// in the order in which they did.
func (s *Service) Turns(
	ctx context.Context, org models.OrgID, session models.SessionID, base int64, ascending bool, after *models.TurnID, limit int,
) ([]models.Turn, error) {
	from, before := int64(0), base+1
	own, past := true, base > 0
	if after != nil && base > 0 {
		end, ok, err := s.endInPast(ctx, org, session, *after)
		switch {
		case err != nil:
			return nil, err
		case ok && ascending:
			from, after = end, nil
		case ok:
			own, before = false, min(before, end)
		default:
			// What is past one of its own turns does not lie before it.
			past = !ascending
		}
	}
	return across(past, ascending, limit, func(limit int) ([]models.Turn, error) {
		if !own {
			return nil, nil
		}
		return s.ownTurns(ctx, org, session, ascending, after, limit)
	}, func(limit int) ([]models.Turn, error) {
		return readPast[models.Turn](ctx, s, pastTurns, org, session, from, before, !ascending, limit)
	})
}

// endInPast returns where a turn has ended that a fork has from others; false for all other turns.
func (s *Service) endInPast(ctx context.Context, org models.OrgID, session models.SessionID, turn models.TurnID) (int64, bool, error) {
	t, err := store.First[models.Turn](s.of(ctx, org).Select("session_id", "ended_sequence").Where("id = ?", turn))
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", turn, err)
	}
	if t == nil || t.SessionID == session || t.EndedSequence == nil {
		return 0, false, nil
	}
	return *t.EndedSequence, true, nil
}

func (s *Service) ownTurns(
	ctx context.Context, org models.OrgID, session models.SessionID, ascending bool, after *models.TurnID, limit int,
) ([]models.Turn, error) {
	q := s.of(ctx, org).Where("session_id = ?", session)
	order, past := "id DESC", "id < ?"
	if ascending {
		order, past = "id", "id > ?"
	}
	if after != nil {
		q = q.Where(past, *after)
	}
	var list []models.Turn
	if err := q.Order(order).Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the turns of %s: %w", session, err)
	}
	return list, nil
}

// CountTurns counts the turns of a session, as far as one more than 10 000.
func (s *Service) CountTurns(ctx context.Context, org models.OrgID, session models.SessionID, base int64) (int, error) {
	own, err := count(s.of(ctx, org).Model(&models.Turn{}).Where("session_id = ?", session))
	return s.withPast(ctx, pastTurns, org, session, base, own, err)
}

// Messages returns up to limit messages of a session by their sequence: the first ones between after and before, or backward the
// last ones, newest first.
func (s *Service) Messages(
	ctx context.Context, org models.OrgID, session models.SessionID, base int64, after, before *int64, backward bool, limit int,
) ([]models.Message, error) {
	from, to := models.Value(after), base+1
	if before != nil {
		to = min(to, *before)
	}
	return across(base > from, !backward, limit, func(limit int) ([]models.Message, error) {
		if before != nil && *before <= base {
			return nil, nil
		}
		return s.ownMessages(ctx, org, session, after, before, backward, limit)
	}, func(limit int) ([]models.Message, error) {
		return readPast[models.Message](ctx, s, pastMessages, org, session, from, to, backward, limit)
	})
}

func (s *Service) ownMessages(
	ctx context.Context, org models.OrgID, session models.SessionID, after, before *int64, backward bool, limit int,
) ([]models.Message, error) {
	q := s.of(ctx, org).Where("session_id = ?", session)
	if after != nil {
		q = q.Where("sequence > ?", *after)
	}
	if before != nil {
		q = q.Where("sequence < ?", *before)
	}
	order := "sequence"
	if backward {
		order = "sequence DESC"
	}
	var list []models.Message
	if err := q.Order(order).Limit(limit).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list the messages of %s: %w", session, err)
	}
	return list, nil
}

// CountMessages counts the messages of a session, as far as one more than 10 000.
func (s *Service) CountMessages(ctx context.Context, org models.OrgID, session models.SessionID, base int64) (int, error) {
	own, err := count(s.of(ctx, org).Model(&models.Message{}).Where("session_id = ?", session))
	return s.withPast(ctx, pastMessages, org, session, base, own, err)
}

// across reads a page of a list that is partly a session's own: what it has from others comes first in the list, if there is anything.
func across[T any](past, forward bool, limit int, own, others func(limit int) ([]T, error)) ([]T, error) {
	first, second := own, others
	switch {
	case !past:
		return own(limit)
	case forward:
		first, second = others, own
	}
	list, err := first(limit)
	if err != nil || len(list) == limit {
		return list, err
	}
	rest, err := second(limit - len(list))
	return append(list, rest...), err
}

// readPast reads rows that a fork has from others, between two sequences, both exclusive.
func readPast[T any](
	ctx context.Context, s *Service, h history, org models.OrgID, session models.SessionID, after, before int64, backward bool, limit int,
) ([]T, error) {
	pieces, err := s.lineages.Of(ctx, org, session)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what was read
	}
	order := " ORDER BY " + h.order
	if backward {
		order += " DESC"
	}
	var list []T
	for group := range events.Between(pieces, after, before, backward) {
		left := limit - len(list)
		//nolint:unqueryvet // GORM's rows take all columns
		branch := "SELECT * FROM (SELECT * FROM " + h.table + h.condition() + order + " LIMIT ?) AS piece"
		var args []any
		for _, p := range group {
			args = append(append(args, h.args(org, p, pieces)...), left)
		}
		var rows []T
		//nolint:unqueryvet // as above
		query := "SELECT * FROM (" + store.Union(branch, len(group)) + ") AS pieces" + s.cfg.DB.OrderOfUnion(order) + " LIMIT ?"
		if err := store.Rows(s.cfg.DB.Read(ctx, org).Raw(query, append(args, left)...), &rows); err != nil {
			return nil, fmt.Errorf("list the %s that %s has from others: %w", h.table, session, err)
		}
		if list = append(list, rows...); len(list) == limit {
			break
		}
	}
	return list, nil
}

func (h history) condition() string {
	return " WHERE org_id = ? AND session_id = ? AND " + h.order + " > ? AND " + h.order + " <= ?" + h.joined
}

// args are what the condition takes for a piece, which may be a part of one of all.
func (h history) args(org models.OrgID, p events.Piece, all []events.Piece) []any {
	args := []any{org, p.Session, p.After, p.Through}
	if h.joined != "" {
		whole := slices.IndexFunc(all, func(w events.Piece) bool { return p.Through <= w.Through })
		args = append(args, all[whole].Through)
	}
	return args
}

// withPast adds to a count of a session's own rows those that it has from others.
func (s *Service) withPast(
	ctx context.Context, h history, org models.OrgID, session models.SessionID, base int64, own int, err error,
) (int, error) {
	if err != nil || base == 0 || own > maxCount {
		return own, err
	}
	pieces, err := s.lineages.Of(ctx, org, session)
	if err != nil {
		return 0, err //nolint:wrapcheck // it says what was read
	}
	for group := range events.Between(pieces, 0, math.MaxInt64, true) {
		left := maxCount + 1 - own
		var args []any
		for _, p := range group {
			args = append(append(args, h.args(org, p, pieces)...), left)
		}
		branch := "SELECT count(*) AS n FROM (SELECT 1 FROM " + h.table + h.condition() + " LIMIT ?) AS piece"
		var ns []int
		if err := s.cfg.DB.Read(ctx, org).Raw(store.Union(branch, len(group)), args...).Scan(&ns).Error; err != nil {
			return 0, fmt.Errorf("count the %s that %s has from others: %w", h.table, session, err)
		}
		for _, n := range ns {
			own += n
		}
		if own = min(own, maxCount+1); own > maxCount {
			break
		}
	}
	return own, nil
}

// pieceOf reports whether a fork has what happened in a session at a sequence.
func pieceOf(pieces []events.Piece, session models.SessionID, sequence int64) bool {
	return slices.ContainsFunc(pieces, func(p events.Piece) bool {
		return p.Session == session && p.After < sequence && sequence <= p.Through
	})
}
