package commit

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// The values of a row, in the order of the shape's columns, in types that both drivers take.

// rawID is an id on its way to and from a database. PostgreSQL's driver takes it as it is, where it would turn the ids of
// models into text and back.
type rawID [16]byte

// UUIDValue implements pgtype.UUIDValuer.
func (r rawID) UUIDValue() (pgtype.UUID, error) { return pgtype.UUID{Bytes: r, Valid: true}, nil }

// ScanUUID implements pgtype.UUIDScanner.
func (r *rawID) ScanUUID(v pgtype.UUID) error {
	if !v.Valid {
		return errors.New("an id is missing")
	}
	*r = v.Bytes
	return nil
}

// Value implements driver.Valuer, for SQLite.
func (r rawID) Value() (driver.Value, error) { return r[:], nil }

// Scan implements sql.Scanner, for SQLite.
func (r *rawID) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(r) {
		return fmt.Errorf("scan %T into an id: want 16 bytes", src)
	}
	copy(r[:], b)
	return nil
}

func id[E models.Entity](v models.ID[E]) any {
	if v.IsZero() {
		return nil
	}
	return rawID(v)
}

func optID[E models.Entity](v *models.ID[E]) any {
	if v == nil {
		return nil
	}
	return id(*v)
}

// into is where an id that can't be NULL is read to.
func into[E models.Entity](v *models.ID[E]) *rawID { return (*rawID)(v) }

func optText[T ~string](v *T) any {
	if v == nil {
		return nil
	}
	return string(*v)
}

func optInt[T ~int | ~int64](v *T) any {
	if v == nil {
		return nil
	}
	return int64(*v)
}

func optBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func doc(j models.JSON) any {
	if len(j) == 0 {
		return nil
	}
	return string(j)
}

func document(v any) any { return string(jsonx.MustEncode(v)) }

func optDocument[T any](v *T) any {
	if v == nil {
		return nil
	}
	return document(v)
}

func usageRow(u models.Usage) []any {
	return []any{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens, int64(u.CostNanos), u.Unpriced}
}

func sessionStateRow(s *models.Session) []any {
	row := []any{s.LastSequence, s.InputSequence, string(s.Status), optID(s.CurrentTurnID), int64(s.QueuedTurns), s.FileBytes}
	return append(append(row, usageRow(s.Usage)...), optInt(s.ResumedAt), optInt(s.CompactedThrough), int64(s.UpdatedAt))
}

func sessionUpdateRow(s *models.Session) []any {
	return append([]any{id(s.OrgID), id(s.ID)}, sessionStateRow(s)...)
}

func sessionInsertRow(s *models.Session) []any {
	return append([]any{
		id(s.OrgID), id(s.ID), optText(s.Title), id(s.HarnessID), optID(s.AgentID), optID(s.ModelID), document(s.Tags), optText(s.Locale),
		optText(s.CustomerKey), string(s.CreatedByKind), optID(s.CreatedByID), optID(s.OwnerID), optBytes(s.ClientTools), optID(s.ParentID),
		optID(s.RootID), optID(s.ForkedFromID), s.BaseSequence, int64(s.CreatedAt),
	}, sessionStateRow(s)...)
}

func sessionDetailRow(s *models.Session) []any {
	return []any{id(s.OrgID), id(s.ID), optText(s.Title), optID(s.AgentID), optID(s.ModelID), document(s.Tags), optBytes(s.ClientTools)}
}

func turnStateRow(t *models.Turn) []any {
	row := []any{
		optDocument(t.Coauthors), optID(t.ModelID), optInt(t.MaxTokens), t.QueuePosition, string(t.Status), optInt(t.ReadyAt), optID(t.RunnerID), t.LeaseEpoch,
		int64(t.Takeovers), int64(t.Recoveries), string(t.Phase), int64(t.Iteration), int64(t.ToolCalls), int64(t.PendingCalls), int64(t.WaitingCalls),
		t.Attention, t.Announced, t.Carries, t.EndHooks, optDocument(t.Cancel), int64(t.ModelCalls), t.InputSequence, t.ConsumedThrough, optID(t.OutputMessageID), optID(t.FinalMessageID),
		optText(t.AnswerPreview), optText(t.StopReason), optInt(t.EndedSequence), optDocument(t.Error),
	}
	row = append(row, usageRow(t.Usage)...)
	return append(row, optDocument(t.Reservation), optInt(t.HarnessRevision), optInt(t.AgentRevision), optInt(t.StartedAt), optInt(t.FirstTokenAt), optInt(t.FinishedAt))
}

func turnUpdateRow(t *models.Turn) []any {
	return append([]any{id(t.OrgID), id(t.ID)}, turnStateRow(t)...)
}

func turnInsertRow(t *models.Turn) []any {
	return append([]any{id(t.OrgID), id(t.ID), id(t.SessionID), id(t.InputMessageID), string(t.StartedByKind), optID(t.StartedByID), int64(t.QueuedAt)}, turnStateRow(t)...)
}

func messageRow(m models.Message) []any {
	return []any{
		id(m.OrgID), id(m.ID), id(m.SessionID), id(m.TurnID), string(m.Role), document(m.Content), m.Sequence, optInt(m.Position),
		int64(m.Ordinal), optDocument(m.Error), optText(m.AuthorKind), optID(m.AuthorID), m.Interrupted, int64(m.CreatedAt),
	}
}

func eventRow(e models.Event) []any {
	return []any{id(e.OrgID), id(e.SessionID), e.Sequence, id(e.ID), string(e.Kind), optID(e.TurnID), doc(e.Data), int64(e.OccurredAt), optInt(e.FeedPosition)}
}

func effectInsertRow(e models.Effect) []any {
	return []any{
		id(e.OrgID), id(e.ScopeID), e.ReplayKey, id(e.SessionID), string(e.Kind), string(e.State), e.InputHash, doc(e.Request),
		doc(e.Outcome), e.Epoch, int64(e.Attempt), int64(e.Ordinal), optInt(e.StartedAt), optInt(e.SettledAt), optInt(e.DueAt),
	}
}

func effectUpdateRow(e models.Effect) []any {
	return []any{
		id(e.OrgID), id(e.ScopeID), e.ReplayKey, string(e.State), doc(e.Outcome), e.Epoch, int64(e.Attempt), optInt(e.StartedAt), optInt(e.SettledAt),
		optInt(e.DueAt),
	}
}

func effectAmendRow(e models.Effect) []any {
	return []any{
		id(e.OrgID), id(e.ScopeID), e.ReplayKey, string(e.State), e.InputHash, doc(e.Request), e.Epoch, int64(e.Attempt), optInt(e.DueAt),
	}
}

func waitInsertRow(w models.Wait) []any {
	return []any{
		id(w.OrgID), id(w.ID), id(w.SessionID), id(w.TurnID), string(w.Kind), w.Identity, string(w.State), optText(w.ToolCallID),
		optText(w.ToolName), doc(w.Request), optInt(w.Deadline), doc(w.Resolution), int64(w.Approvals), int64(w.CreatedAt), optInt(w.ResolvedAt),
	}
}

func waitUpdateRow(w models.Wait) []any {
	return []any{
		id(w.OrgID), id(w.ID), string(w.State), doc(w.Request), optInt(w.Deadline), doc(w.Resolution), int64(w.Approvals), optInt(w.ResolvedAt),
	}
}

func decisionRow(d models.ApprovalDecision) []any {
	return []any{
		id(d.OrgID), id(d.WaitID), id(d.ActorID), string(d.ActorKind), d.Approve, doc(d.Arguments), optText(d.Note), int64(d.CreatedAt),
	}
}

func jobRow(j models.HookJob) []any {
	return []any{id(j.OrgID), id(j.ID), id(j.SessionID), optID(j.TurnID), j.Event, doc(j.Payload), int64(j.Attempt), int64(j.DueAt)}
}

func fileRow(f models.SessionFile) []any {
	var hash any
	if f.Hash != nil {
		hash = f.Hash
	}
	return []any{id(f.OrgID), id(f.SessionID), f.Path, f.Directory, f.Readonly, f.Size, hash, f.Encoding, int64(f.UpdatedAt)}
}

// scanner is a row of either driver.
type scanner interface{ Scan(dest ...any) error }

// readSession are the columns of a whole session s, and whether its organization has budgets: most have none, and pay no statement for them.
var readSession = names("s.", tables.insertSession.all()) +
	", (SELECT b.id FROM budgets b WHERE b.org_id = s.org_id AND b.id > " + firstID + " ORDER BY b.id LIMIT 1) IS NOT NULL AS budgeted"

// scanSession reads a row of readSession and what follows it.
func scanSession(r scanner, more ...any) (*models.Session, error) {
	var s models.Session
	var tags models.JSON
	u := &s.Usage
	dest := []any{
		into(&s.OrgID), into(&s.ID), &s.Title, into(&s.HarnessID), &s.AgentID, &s.ModelID, &tags, &s.Locale, &s.CustomerKey, &s.CreatedByKind,
		&s.CreatedByID, &s.OwnerID, &s.ClientTools, &s.ParentID, &s.RootID, &s.ForkedFromID, &s.BaseSequence, &s.CreatedAt, &s.LastSequence, &s.InputSequence, &s.Status, &s.CurrentTurnID, &s.QueuedTurns,
		&s.FileBytes, &u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens, &u.CostNanos,
		&u.Unpriced, &s.ResumedAt, &s.CompactedThrough, &s.UpdatedAt, &s.Budgeted,
	}
	if err := r.Scan(append(dest, more...)...); err != nil {
		return nil, fmt.Errorf("read a session: %w", err)
	}
	if err := json.Unmarshal(tags, &s.Tags); err != nil {
		return nil, &unreadable{fmt.Errorf("read the tags of session %s: %w", s.ID, err)}
	}
	return &s, nil
}

// TurnColumns are the columns of a whole turn, in the order of ScanTurn, each behind the given prefix ("t." or none).
func TurnColumns(prefix string) string {
	return names(prefix, tables.insertTurn.all())
}

// ScanTurn reads a row of TurnColumns.
func ScanTurn(r scanner) (*models.Turn, error) {
	var t models.Turn
	var fail, cancel, reservation, coauthors models.JSON
	u := &t.Usage
	err := r.Scan(into(&t.OrgID), into(&t.ID), into(&t.SessionID), into(&t.InputMessageID), &t.StartedByKind, &t.StartedByID, &t.QueuedAt, &coauthors, &t.ModelID, &t.MaxTokens, &t.QueuePosition, &t.Status,
		&t.ReadyAt, &t.RunnerID, &t.LeaseEpoch, &t.Takeovers, &t.Recoveries, &t.Phase, &t.Iteration, &t.ToolCalls, &t.PendingCalls,
		&t.WaitingCalls, &t.Attention, &t.Announced, &t.Carries, &t.EndHooks, &cancel, &t.ModelCalls, &t.InputSequence, &t.ConsumedThrough, &t.OutputMessageID, &t.FinalMessageID,
		&t.AnswerPreview, &t.StopReason, &t.EndedSequence, &fail,
		&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens, &u.CostNanos, &u.Unpriced,
		&reservation, &t.HarnessRevision, &t.AgentRevision, &t.StartedAt, &t.FirstTokenAt, &t.FinishedAt)
	if err != nil {
		return nil, fmt.Errorf("read a turn: %w", err)
	}
	if len(fail) > 0 {
		t.Error = &models.Failure{}
		if err := json.Unmarshal(fail, t.Error); err != nil {
			return nil, &unreadable{fmt.Errorf("read the error of turn %s: %w", t.ID, err)}
		}
	}
	if len(cancel) > 0 {
		t.Cancel = &models.Cancel{}
		if err := json.Unmarshal(cancel, t.Cancel); err != nil {
			return nil, &unreadable{fmt.Errorf("read the cancel of turn %s: %w", t.ID, err)}
		}
	}
	if len(reservation) > 0 {
		t.Reservation = &models.Reservation{}
		if err := json.Unmarshal(reservation, t.Reservation); err != nil {
			return nil, &unreadable{fmt.Errorf("read the reservation of turn %s: %w", t.ID, err)}
		}
	}
	if len(coauthors) > 0 {
		t.Coauthors = &models.Coauthors{}
		if err := json.Unmarshal(coauthors, t.Coauthors); err != nil {
			return nil, &unreadable{fmt.Errorf("read the authors of turn %s: %w", t.ID, err)}
		}
	}
	return &t, nil
}

// The columns of calls, waits and decisions as they are read under the lock of their session.
var (
	callColumns     = names("e.", append(effectKey, tables.insertEffect.set...))
	waitColumns     = names("w.", tables.insertWait.all())
	decisionColumns = names("d.", tables.insertDecision.all()) + ", COALESCE(m.role, ''), k.id IS NOT NULL, k.expires_at, k.created_by"
)

func scanCall(r scanner) (models.Effect, error) {
	var e models.Effect
	err := r.Scan(into(&e.OrgID), into(&e.ScopeID), &e.ReplayKey, into(&e.SessionID), &e.Kind, &e.State, &e.InputHash, &e.Request, &e.Outcome,
		&e.Epoch, &e.Attempt, &e.Ordinal, &e.StartedAt, &e.SettledAt, &e.DueAt)
	if err != nil {
		return e, fmt.Errorf("read a call: %w", err)
	}
	return e, nil
}

func scanWait(r scanner) (models.Wait, error) {
	var w models.Wait
	err := r.Scan(into(&w.OrgID), into(&w.ID), into(&w.SessionID), into(&w.TurnID), &w.Kind, &w.Identity, &w.State, &w.ToolCallID, &w.ToolName,
		&w.Request, &w.Deadline, &w.Resolution, &w.Approvals, &w.CreatedAt, &w.ResolvedAt)
	if err != nil {
		return w, fmt.Errorf("read a wait: %w", err)
	}
	return w, nil
}

func scanDecision(r scanner) (models.ApprovalDecision, error) {
	var d models.ApprovalDecision
	var maker *models.UserID
	err := r.Scan(into(&d.OrgID), into(&d.WaitID), into(&d.ActorID), &d.ActorKind, &d.Approve, &d.Arguments, &d.Note, &d.CreatedAt,
		&d.Voter.Role, &d.Voter.Key, &d.Voter.KeyExpiresAt, &maker)
	d.Voter.Maker = models.Value(maker)
	if err != nil {
		return d, fmt.Errorf("read a decision: %w", err)
	}
	return d, nil
}

// author is who sent a message, as its row holds it.
type author struct {
	kind *models.ActorKind
	id   *models.ActorID
}

// actor returns nil for nobody. Rows that were written before there were keys name a user, without the kind.
func (a author) actor() *models.Actor {
	switch {
	case a.id == nil || a.id.IsZero():
		return nil
	case a.kind == nil:
		return &models.Actor{Kind: models.ActorUser, ID: *a.id}
	}
	return &models.Actor{Kind: *a.kind, ID: *a.id}
}

// loggedColumns are those of an event that a command looks at.
const loggedColumns = "e.sequence, e.id, e.kind, e.turn_id, e.data, e.occurred_at"

func scanLogged(k key, r scanner) (models.Event, error) {
	e := models.Event{OrgID: k.org, SessionID: k.session}
	if err := r.Scan(&e.Sequence, into(&e.ID), &e.Kind, &e.TurnID, &e.Data, &e.OccurredAt); err != nil {
		return e, fmt.Errorf("read an event: %w", err)
	}
	return e, nil
}

func kindNames(kinds []models.EventKind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

// collectFile reads an entry of a filesystem.
func collectFile(r scanner, files map[key]map[string]models.SessionFile) error {
	var f models.SessionFile
	err := r.Scan(into(&f.OrgID), into(&f.SessionID), &f.Path, &f.Directory, &f.Readonly, &f.Size, &f.Hash, &f.Encoding, &f.UpdatedAt)
	if err != nil {
		return fmt.Errorf("read an entry of a filesystem: %w", err)
	}
	k := key{f.OrgID, f.SessionID}
	if files[k] == nil {
		files[k] = map[string]models.SessionFile{}
	}
	files[k][f.Path] = f
	return nil
}

// firstID is before all ids, in both dialects. With it the planner takes the index in its order, and stops at the first row.
const firstID = "'00000000-0000-0000-0000-000000000000'"
