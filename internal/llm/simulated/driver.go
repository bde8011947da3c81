// Package simulated holds models that need no key and no network. They answer by rules, from the request alone:
// the same request gives the same answer, whatever was asked before and on whichever node. See
// docs/simulated-models.md.
package simulated

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

var (
	_ llm.Driver = (*Driver)(nil)
	_ llm.Lister = (*Driver)(nil)
)

// Options are what a Driver needs from outside.
type Options struct {
	// Sleep waits for d or until ctx ends, whose error it then gives. Nil means real time. It is never asked to wait
	// for nothing.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Driver runs the simulated models. It keeps nothing between calls and may be used by many goroutines.
type Driver struct {
	sleep func(ctx context.Context, d time.Duration) error
}

// New makes a Driver.
func New(o Options) *Driver {
	d := &Driver{sleep: o.Sleep}
	if d.sleep == nil {
		d.sleep = sleep
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Stream implements llm.Driver.
func (d *Driver) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	m, err := parseName(req.Model)
	if err != nil {
		return llm.Response{}, &llm.Error{Code: llm.CodeMisconfigured, Message: "The model can't be used: " + err.Error() + "."}
	}
	p := newPlayer(d.sleep, emit, &req)
	p.first, p.perToken = m.first, m.perToken
	switch m.behaviour {
	case behaviourDefault:
		err = compiledRules().answer(ctx, p, &req)
	case behaviourEcho, behaviourLatency:
		err = p.say(ctx, models.PartText, lastUserText(req.Messages))
	case behaviourLorem:
		err = p.say(ctx, models.PartText, lorem(m.tokens))
	case behaviourScript:
		return playScript(ctx, p, &req)
	}
	return p.end(err, "")
}

// Models implements llm.Lister. It needs neither address nor key.
func (d *Driver) Models(context.Context, llm.Endpoint) ([]llm.ModelInfo, error) {
	list := make([]llm.ModelInfo, 0, len(Models()))
	for _, m := range Models() {
		list = append(list, llm.ModelInfo{
			Name: m.Name, DisplayName: m.DisplayName, ContextWindowTokens: m.ContextWindowTokens, MaxOutputTokens: m.MaxOutputTokens,
		})
	}
	return list, nil
}

// lastUserText returns the newest message of the user as text. Images are named by their media types: that is all that simulated models
// see of them.
func lastUserText(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == models.MessageUser {
			return withImages(m)
		}
	}
	return ""
}

// withImages is textOf with a line for each image.
func withImages(m llm.Message) string {
	text := textOf(m)
	for i := range m.Parts {
		if m.Parts[i].Type != models.PartImage {
			continue
		}
		if text != "" {
			text += "\n"
		}
		text += "[" + m.Parts[i].MediaType + "]"
	}
	return text
}

// textOf joins the text parts of a message. The usual message has one, which costs nothing.
func textOf(m llm.Message) string {
	var first string
	var rest []string
	for _, p := range m.Parts {
		switch {
		case p.Type != models.PartText || p.Text == "":
		case first == "":
			first = p.Text
		default:
			rest = append(rest, p.Text)
		}
	}
	if rest == nil {
		return first
	}
	return first + "\n" + strings.Join(rest, "\n")
}
