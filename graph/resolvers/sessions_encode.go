package resolvers

import (
	"encoding/base64"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

func encodeSession(s *models.Session) *model.Session {
	return &model.Session{
		ID: s.ID.String(), Title: s.Title, Status: model.SessionStatus(s.Status), Tags: s.Tags, Locale: s.Locale, CustomerKey: s.CustomerKey,
		LastSequence: int(s.LastSequence), Usage: encodeUsage(s.Usage), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		SessionID: s.ID, HarnessID: s.HarnessID, AgentID: s.AgentID, ModelID: s.ModelID, CurrentTurnID: s.CurrentTurnID,
		CreatedByKind: s.CreatedByKind, CreatedByID: s.CreatedByID, OwnerID: s.OwnerID,
		ParentID: s.ParentID, RootID: s.RootID, ForkedFromID: s.ForkedFromID, ForkedThrough: int(s.BaseSequence), Setup: s.Setup, Trial: s.Trial,
	}
}

func encodeSummary(s *models.IndexedSession) *model.SessionSummary {
	out := &model.SessionSummary{Preview: s.Preview, Outcome: (*model.TurnStatus)(s.Outcome), ModelID: s.ModelID}
	if s.Outcome != nil {
		out.DurationMs = &s.DurationMs
	}
	return out
}

func encodeMatch(m *sessions.Match) *model.SessionMatch {
	out := &model.SessionMatch{Message: encodeMessage(m.Message), Parts: make([]*model.MatchPart, len(m.Parts))}
	for i, p := range m.Parts {
		out.Parts[i] = &model.MatchPart{Text: p.Text, Hit: p.Hit}
	}
	return out
}

func encodeTurn(t *models.Turn) *model.Turn {
	out := &model.Turn{
		ID: t.ID.String(), Status: model.TurnStatus(t.Status), Iterations: t.Iteration, ToolCalls: t.ToolCalls, Usage: encodeUsage(t.Usage),
		Error: encodeFailure(t.Error), Recoveries: t.Recoveries, QueuedAt: t.QueuedAt, StartedAt: t.StartedAt, FirstTokenAt: t.FirstTokenAt,
		FinishedAt: t.FinishedAt, SessionID: t.SessionID, InputMessageID: t.InputMessageID, FinalMessageID: t.FinalMessageID,
		TurnID: t.ID, StartedByKind: t.StartedByKind, StartedByID: t.StartedByID,
	}
	if c := t.Cancel; c != nil {
		out.CancelRequestedAt, out.CancelReason = c.At.Ptr(), nonEmpty(c.Reason)
	}
	if t.EndedSequence != nil {
		out.EndedSequence = new(int(*t.EndedSequence))
	}
	if t.StopReason != nil {
		reason := model.StopReason(*t.StopReason)
		out.StopReason = &reason
	}
	return out
}

// encodeFile shows an entry; content is nil in lists and for directories.
func encodeFile(f tools.File, content []byte) *model.SessionFile {
	out := &model.SessionFile{
		Path: f.Path, Directory: f.Directory, Readonly: f.ReadOnly, Size: f.Size, Hash: nonEmpty(f.Hash), UpdatedAt: models.MillisOf(f.UpdatedAt),
	}
	if content == nil {
		return out
	}
	encoding, text := "text", string(content)
	if !texts.StorableBytes(content) {
		encoding, text = "base64", base64.StdEncoding.EncodeToString(content)
	}
	out.Encoding, out.Content = &encoding, &text
	return out
}

func encodeSavedView(v *models.SavedView) *model.SavedView {
	return &model.SavedView{ID: v.ID.String(), Name: v.Name, Search: v.Search, Preferred: v.Preferred, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt}
}
