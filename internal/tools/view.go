package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/text"
)

// MaxResultBytes is how much of a result the model is shown.
const MaxResultBytes = 64 << 10

// The reasons why less is shown than there is.
const (
	// ReasonSize: the result would be too large.
	ReasonSize = "size_cap"
	// ReasonItems: there are more items than are shown at once.
	ReasonItems = "item_cap"
	// ReasonLimit: the call asked for no more.
	ReasonLimit = "limit"
	// ReasonBudget: it would take too much work to look at everything.
	ReasonBudget = "exec_budget"
)

// Cut reports that a result is a part of something larger. A tool that pages embeds it in its result; Run puts it
// around results over MaxResultBytes.
type Cut struct {
	Truncated     bool `json:"truncated"`
	BytesReturned int  `json:"bytesReturned,omitempty"`
	BytesTotal    int  `json:"bytesTotal,omitempty"`
	// NextOffset is where to go on, in the tool's own unit; for Run's cut, bytes of the result.
	NextOffset int    `json:"nextOffset,omitempty"`
	ResumeHint string `json:"resumeHint,omitempty"`
	// Reason is one of the constants above.
	Reason string `json:"reason,omitempty"`
}

// View returns a result as it may be stored and shown; Run has done that already. It is for results that were made or changed
// elsewhere: by hooks, by clients, by those who complete a pending call.
func View(r Result) Result { return modelView(r) }

// modelView returns the result as it may be stored and shown: exactly one of JSON and ToolError, no larger than allowed,
// without bytes that a database or a provider refuses, and nothing of an internal error.
func modelView(r Result) Result {
	shown := shownResult(r)
	shown.Measures = r.Measures
	return shown
}

func shownResult(r Result) Result {
	switch {
	case r.Internal != nil:
		return Result{ToolError: internalText, Internal: r.Internal, Retryable: r.Retryable}
	case r.ToolError != "":
		return Result{ToolError: cleanText(r.ToolError, MaxResultBytes), Retryable: r.Retryable, ConnectionRequired: r.ConnectionRequired}
	case len(r.JSON) == 0:
		return Result{JSON: json.RawMessage(`{}`)}
	case !json.Valid(r.JSON):
		return shownResult(Result{Internal: errors.New("the tool's result is not valid JSON")})
	}
	doc := cleanJSON(r.JSON)
	if len(doc) <= MaxResultBytes {
		return Result{JSON: doc}
	}
	return Result{JSON: envelope(doc)}
}

// envelope wraps the beginning of a result that is too large.
func envelope(doc json.RawMessage) json.RawMessage {
	type cut struct {
		Cut
		// Content is the beginning of the result's JSON text.
		Content string `json:"content"`
	}
	// What the other members take is far below 1 KiB.
	head := CutEncoded(string(doc), MaxResultBytes-1024)
	r := Success(cut{
		Cut: Cut{
			Truncated: true, BytesReturned: len(head), BytesTotal: len(doc), NextOffset: len(head), Reason: ReasonSize,
			ResumeHint: "content is the beginning of the result's JSON text. Call again in a way that returns less, " +
				"for example with a narrower path, pattern, limit or range.",
		},
		Content: head,
	})
	return r.JSON
}

// cleanJSON replaces invalid UTF-8 and NUL characters, both of which databases refuse, by U+FFFD.
func cleanJSON(doc json.RawMessage) json.RawMessage {
	if !utf8.Valid(doc) {
		doc = json.RawMessage(strings.ToValidUTF8(string(doc), "\uFFFD"))
	}
	if !strings.Contains(string(doc), `\u0000`) {
		return doc
	}
	out := append(json.RawMessage(nil), doc...)
	for i := 0; i < len(out)-1; i++ {
		if out[i] != '\\' {
			continue
		}
		if i+6 <= len(out) && string(out[i:i+6]) == `\u0000` {
			copy(out[i:], `\ufffd`)
		}
		// Whatever follows a backslash is no backslash that begins an escape.
		i++
	}
	return out
}

func cleanText(s string, limit int) string {
	s = text.Clean(s)
	if len(s) <= limit {
		return s
	}
	note := fmt.Sprintf(" … (cut, %d bytes in all)", len(s))
	return text.Cut(s, limit-len(note)) + note
}
