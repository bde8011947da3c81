package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// reach returns who speaks a model's protocol, and where. Its errors tell what is not set up.
func (e *Engine) reach(ctx context.Context, m *catalog.RunModel) (llm.Driver, llm.Endpoint, error) {
	p := &m.Provider
	wrong := func(cause error, format string, args ...any) (llm.Driver, llm.Endpoint, error) {
		return nil, llm.Endpoint{}, &llm.Error{Code: llm.CodeMisconfigured, Message: fmt.Sprintf(format, args...), Cause: cause}
	}
	driver := e.cfg.Drivers[p.Kind]
	if driver == nil {
		return wrong(nil, "This server has no driver for providers of kind %s.", p.Kind)
	}
	at, err := e.cfg.Catalog.Endpoint(ctx, p)
	if err != nil {
		return wrong(err, "The API key of the provider %s can't be read on this server. Enter it again in the provider's settings.", p.Name)
	}
	if at.APIKey == "" && p.Kind.NeedsKey() {
		return wrong(nil, "The provider %s has no API key. Enter one in the provider's settings.", p.Name)
	}
	return driver, at, nil
}

func restingError(m *catalog.RunModel, until time.Time) *llm.Error {
	return &llm.Error{Code: llm.CodeUnavailable, Transient: true, Message: fmt.Sprintf(
		"The provider %s has failed several times in a row, so it is not called again before %s. Try again then, or choose a model of another provider.",
		m.Provider.Name, until.Add(time.Second-1).UTC().Format("15:04:05 UTC"))}
}

func idleError(limit time.Duration, cause error) *llm.Error {
	return &llm.Error{Code: llm.CodeUnavailable, Transient: true, Cause: cause, Message: fmt.Sprintf(
		"The model sent nothing for %s, so the call was stopped. Try again later, or choose another model.", limit)}
}

// endlessError is not transient: the next call would take as long.
func endlessError(limit time.Duration, cause error) *llm.Error {
	return &llm.Error{Code: llm.CodeUnavailable, Cause: cause, Message: fmt.Sprintf(
		"The model did not finish within %s, so the call was stopped. Ask for less at once, or choose another model.", limit)}
}

// omittedNote follows the system prompt of a model that is not shown the whole conversation. It never changes, so that providers can cache it.
const omittedNote = "\n\nThis conversation has earlier messages that are not shown to you, because they don't fit your context window. If you need " +
	"something from them, say so and ask for it; don't guess what they said."

// request assembles what a model is shown. limit is the output limit that budgets leave; 0 for the model's own. alive is called while the
// call waits for this server.
func (r *turnRun) request(m *catalog.RunModel, at llm.Endpoint, limit int, alive func()) llm.Request {
	e, org, eff := r.e, r.turn.OrgID, r.step.effective
	shown := contextBytes(eff, &m.Model)
	req := llm.Request{
		Model: m.Model.Name, System: eff.SystemPrompt, Endpoint: at, Conversation: conversationName(org, r.turn.SessionID),
		Messages: r.conversation.messages(shown, originOf(m)),
	}
	if _, last := r.conversation.omitted(shown); last > 0 {
		req.System = strings.TrimPrefix(req.System+omittedNote, "\n\n")
	}
	for _, t := range eff.Toolset.Manifests() {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	if req.MaxTokens = limit; limit == 0 {
		req.MaxTokens = outputLimit(&m.Model, r.turn.MaxTokens)
	}
	files := e.cfg.Workspace.Open(org, r.turn.SessionID)
	// That the database is away is no failure of the model's: its call must not use up its attempts, or its time, on it.
	read := func(ctx context.Context, what string, once func() error) error {
		return r.persist(ctx, what, func() error {
			alive()
			return once()
		})
	}
	// Most sessions have no files, as the commit that began the step has told: then a look-up would be in vain.
	hasFiles := r.session.files
	req.ReadFile = func(ctx context.Context, path string) (content []byte, err error) {
		if !hasFiles {
			return nil, fs.ErrNotExist
		}
		err = read(ctx, "read a file for the model", func() error {
			_, content, err = files.Read(ctx, path)
			return err
		})
		return content, err
	}
	req.ReadImage = func(ctx context.Context, id models.ImageID) (img llm.Image, err error) {
		if e.cfg.Images == nil {
			return llm.Image{}, fmt.Errorf("read image %s: this server stores no images: %w", id, fs.ErrNotExist)
		}
		err = read(ctx, "read an image for the model", func() error {
			img, err = e.cfg.Images.Read(ctx, org, id)
			return err
		})
		return img, err
	}
	return req
}

// bytesPerToken is a cautious guess for how much text a context window holds.
const bytesPerToken = 3

// contextBytes is how much of the conversation the model is shown, so that it leaves room for prompt and answer. Providers count what an
// answer may take at most as taken, so without that room a long session could not go on. An answer that may fill almost the whole
// window leaves a quarter of it.
func contextBytes(eff *catalog.Effective, m *models.Model) int {
	window, answer := 128_000, models.Value(m.MaxOutputTokens)
	if m.ContextWindowTokens != nil {
		window = *m.ContextWindowTokens
	}
	shown := min(window*3/4, max(window-answer, window/4))
	return max(shown*bytesPerToken-len(eff.SystemPrompt), 4096)
}

// conversationName names a session to providers, who are told nothing that means anything here.
func conversationName(org models.OrgID, session models.SessionID) string {
	var both [2 * len(org)]byte
	copy(both[:], org[:])
	copy(both[len(org):], session[:])
	sum := sha256.Sum256(both[:])
	return hex.EncodeToString(sum[:16])
}

// originOf names a model in the Origin of parts.
func originOf(m *catalog.RunModel) string { return m.Provider.ID.String() + "/" + m.Model.Name }
