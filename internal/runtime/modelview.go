package runtime

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// ModelViews tells what models were sent. Nothing is stored for it: it is made again from the conversation, by the code that sends.
type ModelViews struct {
	db      database
	log     *events.Log
	catalog *catalog.Service
}

// NewModelViews returns the model views of a database.
func NewModelViews(db *store.DB, c *catalog.Service) *ModelViews {
	return &ModelViews{db: database{db: db, lineages: events.NewLineages(db)}, log: events.NewLog(db), catalog: c}
}

// ModelView is what a model was sent in a step.
type ModelView struct {
	Iteration int
	// Model is the name of the model that was asked.
	Model string
	// SystemPrompt is nil when the harness or the agent is gone, so that it can't be known.
	SystemPrompt *string
	Tools        []llm.Tool
	Messages     []ViewedMessage
	// Exact is true when the hash that the step has recorded is that of this view. Otherwise the configuration was changed since, or the
	// step has recorded none: then it is what the model would be sent now.
	Exact bool

	// configured is the model that the configuration begins with; zero when it is not known.
	configured models.ModelID
}

// ViewedMessage is a message that a model was shown.
type ViewedMessage struct {
	llm.Message
	ID models.MessageID
	// Tokens is about what it takes of a context window, by the estimate that decides which messages fit.
	Tokens int
}

// Of returns what a model was sent in a step of a turn; without an iteration in the newest one. It is nil when there was no such step.
func (v *ModelViews) Of(ctx context.Context, org models.OrgID, turn models.TurnID, iteration *int) (*ModelView, error) {
	t, err := store.First[models.Turn](store.Of(v.db.db.Read(ctx, org), org).Where("id = ?", turn))
	if err != nil {
		return nil, fmt.Errorf("read turn %s: %w", turn, err)
	}
	if t == nil {
		return nil, fault.New(fault.NotFound, "There is no turn %s.", turn)
	}
	n := t.Iteration
	if iteration != nil {
		n = *iteration
	}
	if n < 1 || n > t.Iteration {
		return nil, nil
	}
	asked, err := v.asked(ctx, t, n)
	if err != nil || asked == nil {
		return nil, err
	}
	session, err := v.db.session(ctx, org, t.SessionID)
	if err != nil {
		return nil, err
	}
	run := catalog.Run{
		HarnessID: session.harness, AgentID: session.agent, SessionModelID: session.model, MessageModelID: t.ModelID, Setup: session.setup,
	}
	view, err := v.under(ctx, t, session, asked, run)
	if err != nil || view.Exact || asked.ModelID.IsZero() || view.configured == asked.ModelID {
		return view, err
	}
	// The session may have had another model then, or the turn, before a message that has steered it.
	run.MessageModelID = &asked.ModelID
	return v.under(ctx, t, session, asked, run)
}

// askedModel is what the log says of the newest model call of a step.
type askedModel struct {
	events.GenerationRecorded
	iteration int
}

// stepEvents are the kinds of events that tell where a step begins, and what its model calls were shown.
var stepEvents = []models.EventKind{models.EventReasonStarted, models.EventOutputStarted, models.EventGenerationRecorded}

// eventsPage is how many of them are read at once.
const eventsPage = 200

// asked looks a step up in the log, from the turn's end; nil when the log has no such step.
func (v *ModelViews) asked(ctx context.Context, t *models.Turn, iteration int) (*askedModel, error) {
	q := events.PageQuery{Limit: eventsPage, Backward: true, Kinds: stepEvents}
	if t.EndedSequence != nil {
		q.Before = new(*t.EndedSequence + 1)
	}
	found := askedModel{iteration: iteration}
	for {
		page, err := v.log.Page(ctx, t.OrgID, t.SessionID, q)
		if err != nil {
			return nil, err //nolint:wrapcheck // it says what was read
		}
		for _, e := range page {
			if models.Value(e.TurnID) != t.ID {
				continue
			}
			payload, err := events.Decode(e.Kind, e.Data)
			if err != nil {
				return nil, fmt.Errorf("read event %d of session %s: %w", e.Sequence, t.SessionID, err)
			}
			switch p := payload.(type) {
			case events.GenerationRecorded:
				if found.ModelID.IsZero() {
					found.GenerationRecorded = p
				}
			case events.OutputStarted:
				if found.Model == "" {
					found.Model = p.Model
				}
			case events.ReasonStarted:
				if p.Iteration == iteration {
					if found.PromptThrough == 0 {
						// All that the step was to show had joined the conversation when it began.
						found.PromptThrough = e.Sequence
					}
					return &found, nil
				}
				found = askedModel{iteration: iteration}
			}
		}
		if len(page) < q.Limit {
			return nil, nil
		}
		q.Before = &page[len(page)-1].Sequence
	}
}

// under makes a view with what the turn would run with now.
func (v *ModelViews) under(ctx context.Context, t *models.Turn, s *sessionInfo, asked *askedModel, run catalog.Run) (*ModelView, error) {
	eff, err := v.catalog.PreviewRun(ctx, t.OrgID, run)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what was worked out
	}
	known := eff != nil
	if !known {
		eff = &catalog.Effective{}
	}
	model := modelOf(eff, asked)
	reads := model
	if eff.Model != nil {
		reads = eff.Model
	}
	c := &conversation{limit: min(contextBytes(eff, &reads.Model), maxConversation)}
	messages, more, err := v.db.messagesThrough(ctx, t.OrgID, t.SessionID, s.base, 0, asked.PromptThrough, c.limit)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		c.addMessage(m.ID, *m.Position, m.Ordinal, m.Role, m.Content)
	}
	c.cut = c.cut || more
	if err := store.Charge(ctx, c.bytes); err != nil {
		return nil, err //nolint:wrapcheck // it tells the caller what to do
	}
	_, _, hash := c.prompt(eff, &model.Model)
	view := &ModelView{Iteration: asked.iteration, Model: cmp.Or(asked.Model, model.Model.Name), Exact: known && asked.PromptHash == hash}
	if req := c.request(eff, model); known {
		view.SystemPrompt, view.Tools = &req.System, req.Tools
	}
	if eff.Model != nil {
		view.configured = eff.Model.Model.ID
	}
	shown := c.window(contextBytes(eff, &model.Model))
	if !view.Exact && asked.PromptFrom > 0 {
		// Where it began to be shown the conversation is known all the same.
		shown = c.list
	}
	for _, m := range shown {
		if len(m.Parts) > 0 && m.position >= asked.PromptFrom {
			view.Messages = append(view.Messages, ViewedMessage{Message: m.Message, ID: m.id, Tokens: m.bytes / bytesPerToken})
		}
	}
	return view, nil
}

// modelOf returns the model that was asked, as far as the configuration still has it.
func modelOf(eff *catalog.Effective, asked *askedModel) *catalog.RunModel {
	if m := eff.Model; m != nil && (asked.ModelID.IsZero() || m.Model.ID == asked.ModelID) {
		return m
	}
	for _, m := range eff.Fallbacks {
		if m.Model.ID == asked.ModelID {
			return m
		}
	}
	return &catalog.RunModel{Model: models.Model{ID: asked.ModelID, Name: asked.Model}}
}
