package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// omittedNote follows the system prompt of a model that is not shown the whole conversation. It never changes, so that providers can cache it.
const omittedNote = "\n\nThis conversation has earlier messages that are not shown to you, because they don't fit your context window. If you need " +
	"something from them, say so and ask for it; don't guess what they said."

// Row implements ask.Turn.
func (r *turnRun) Row() *models.Turn { return &r.turn }

// Through implements ask.Turn.
func (r *turnRun) Through() int64 { return r.conversation.through() }

// Request implements ask.Turn.
func (r *turnRun) Request(m *catalog.RunModel, at llm.Endpoint, limit int, alive func()) llm.Request {
	e, org := r.e, r.turn.OrgID
	req := r.conversation.request(r.step.effective, m)
	req.Endpoint, req.Conversation = at, conversationName(org, r.turn.SessionID)
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

// request is what a model is told of a conversation under a configuration.
func (c *conversation) request(eff *catalog.Effective, m *catalog.RunModel) llm.Request {
	shown := contextBytes(eff, &m.Model)
	req := llm.Request{Model: m.Model.Name, System: eff.SystemPrompt, Messages: c.messages(shown, originOf(m))}
	if _, last := c.omitted(shown); last > 0 {
		req.System = strings.TrimPrefix(req.System+omittedNote, "\n\n")
	}
	for t := range eff.Toolset.Manifests() {
		req.Tools = append(req.Tools, llm.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
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
