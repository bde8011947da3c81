package simulated

import (
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// script is what sim-script plays: one response per call of the model.
type script struct {
	responses []scriptResponse
}

type scriptResponse struct {
	first  time.Duration
	chunks []scriptChunk
	usage  scriptUsage
	finish llm.FinishReason
}

// scriptUsage overrides what was counted where it isn't nil.
type scriptUsage struct {
	input, output, cacheRead, cacheWrite, reasoning *int64
}

func (u scriptUsage) apply(to *models.Usage) {
	for _, f := range []struct {
		from *int64
		to   *int64
	}{
		{u.input, &to.InputTokens},
		{u.output, &to.OutputTokens},
		{u.cacheRead, &to.CacheReadTokens},
		{u.cacheWrite, &to.CacheWriteTokens},
		{u.reasoning, &to.ReasoningTokens},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

type chunkKind string

const (
	chunkText       chunkKind = "text"
	chunkThinking   chunkKind = "thinking"
	chunkToolCall   chunkKind = "tool_call"
	chunkUsage      chunkKind = "usage"
	chunkStall      chunkKind = "stall_ms"
	chunkError      chunkKind = "error"
	chunkDisconnect chunkKind = "disconnect"
)

// scriptChunk is one thing that a response does. Which fields are set follows from kind.
type scriptChunk struct {
	kind     chunkKind
	perToken time.Duration
	// text is what is said or thought, or the arguments of a call.
	text string
	// id and name are those of a tool call; an empty id is made up.
	id, name string
	stall    time.Duration
	usage    scriptUsage
	failure  *llm.Error
}

const (
	maxResponses = 1_000
	maxChunks    = 10_000
	maxCount     = 1_000_000_000_000
)

// parseScript reads a script. The error tells where in the document it is wrong.
func parseScript(text []byte) (*script, error) {
	root, err := parseTree(text)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	s := d.script(root)
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

func (d *decoder) script(root *node) *script {
	f := d.object(root, "", "ttft_ms", "ms_per_token", "responses")
	first := d.millis(f["ttft_ms"], "ttft_ms", 0)
	perToken := d.millis(f["ms_per_token"], "ms_per_token", 0)
	s := &script{}
	for path, n := range d.list(f["responses"], "responses", maxResponses) {
		s.responses = append(s.responses, d.response(n, path, first, perToken))
	}
	return s
}

func (d *decoder) response(n *node, path string, first, perToken time.Duration) scriptResponse {
	f := d.object(n, path, "ttft_ms", "ms_per_token", "chunks", "usage", "finish")
	r := scriptResponse{first: d.millis(f["ttft_ms"], path+".ttft_ms", first)}
	perToken = d.millis(f["ms_per_token"], path+".ms_per_token", perToken)
	for at, c := range d.list(f["chunks"], path+".chunks", maxChunks) {
		if last := len(r.chunks) - 1; last >= 0 {
			if k := r.chunks[last].kind; k == chunkError || k == chunkDisconnect {
				d.failf(at, "nothing can follow after %s", k)
			}
		}
		r.chunks = append(r.chunks, d.chunk(c, at, perToken))
	}
	if u := f["usage"]; u != nil {
		r.usage = d.usage(u, path+".usage")
	}
	reasons := []llm.FinishReason{llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishRefusal}
	if n := f["finish"]; n != nil {
		r.finish = llm.FinishReason(d.text(n, path+".finish"))
		if !slices.Contains(reasons, r.finish) {
			d.failf(path+".finish", "it must be one of %v", reasons)
		}
	}
	return r
}

func (d *decoder) usage(n *node, path string) scriptUsage {
	f := d.object(n, path, "input", "output", "cache_read", "cache_write", "reasoning")
	return scriptUsage{
		input:      d.count(f["input"], path+".input"),
		output:     d.count(f["output"], path+".output"),
		cacheRead:  d.count(f["cache_read"], path+".cache_read"),
		cacheWrite: d.count(f["cache_write"], path+".cache_write"),
		reasoning:  d.count(f["reasoning"], path+".reasoning"),
	}
}

func (d *decoder) chunk(n *node, path string, perToken time.Duration) scriptChunk {
	kinds := []chunkKind{chunkText, chunkThinking, chunkToolCall, chunkUsage, chunkStall, chunkError, chunkDisconnect}
	names := append(make([]string, 0, len(kinds)+1), "ms_per_token")
	for _, k := range kinds {
		names = append(names, string(k))
	}
	f := d.object(n, path, names...)
	c := scriptChunk{perToken: perToken}
	for _, k := range kinds {
		switch {
		case f[string(k)] == nil:
		case c.kind != "":
			d.failf(path, "a chunk does one thing, but this has both %s and %s", c.kind, k)
		default:
			c.kind = k
		}
	}
	value, at := f[string(c.kind)], path+"."+string(c.kind)
	switch c.kind {
	case chunkText, chunkThinking:
		c.text = d.text(value, at)
	case chunkToolCall:
		d.toolCall(value, at, &c)
	case chunkUsage:
		c.usage = d.usage(value, at)
	case chunkStall:
		c.stall = d.millis(value, at, 0)
	case chunkError:
		c.failure = d.failure(value, at)
	case chunkDisconnect:
		if !d.boolean(value, at) {
			d.failf(at, "it must be true, or not be there")
		}
	default:
		d.failf(path, "a chunk needs one of %v", kinds)
	}
	if p := f["ms_per_token"]; p != nil {
		if c.kind == chunkUsage || c.kind == chunkStall || c.kind == chunkError || c.kind == chunkDisconnect {
			d.failf(path+".ms_per_token", "%s has no tokens", c.kind)
		}
		c.perToken = d.millis(p, path+".ms_per_token", 0)
	}
	return c
}

func (d *decoder) toolCall(n *node, path string, c *scriptChunk) {
	f := d.object(n, path, "id", "name", "arguments", "raw_arguments")
	if id := f["id"]; id != nil {
		c.id = d.name(id, path+".id")
	}
	c.name = d.name(f["name"], path+".name")
	args, raw := f["arguments"], f["raw_arguments"]
	switch {
	case args != nil && raw != nil:
		d.failf(path, "arguments and raw_arguments can't both be there")
	case raw != nil:
		c.text = d.text(raw, path+".raw_arguments")
	case args != nil:
		c.text = d.rawObject(args, path+".arguments")
	default:
		c.text = "{}"
	}
}

func (d *decoder) failure(n *node, path string) *llm.Error {
	f := d.object(n, path, "status", "code", "message", "retry_after_ms")
	e := &llm.Error{Status: int(d.integer(f["status"], path+".status", 400, 599))}
	e.Code = codeOf(e.Status)
	if c := f["code"]; c != nil {
		codes := []llm.Code{
			llm.CodeRateLimited, llm.CodeUnavailable, llm.CodeMisconfigured, llm.CodeQuotaExhausted,
			llm.CodeContextExceeded, llm.CodeInvalidToolSchema, llm.CodeInternal,
		}
		e.Code = llm.Code(d.text(c, path+".code"))
		if !slices.Contains(codes, e.Code) {
			d.failf(path+".code", "it must be one of %v", codes)
		}
	}
	// The code has the last word: a 429 for a used-up quota won't go away by waiting.
	e.Transient = transient(e.Status) && (e.Code == llm.CodeRateLimited || e.Code == llm.CodeUnavailable)
	e.Message = "The simulated model failed, as the script says."
	if m := f["message"]; m != nil {
		e.Message = d.text(m, path+".message")
	}
	e.RetryAfter = d.millis(f["retry_after_ms"], path+".retry_after_ms", 0)
	return e
}

func transient(status int) bool {
	return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500
}

func codeOf(status int) llm.Code {
	switch {
	case status == 429:
		return llm.CodeRateLimited
	case transient(status):
		return llm.CodeUnavailable
	case status == 402:
		return llm.CodeQuotaExhausted
	case status == 413:
		return llm.CodeContextExceeded
	}
	return llm.CodeMisconfigured
}
