package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

// The limits of what a hook says.
const (
	maxReasonBytes      = 4 << 10
	maxUserMessageBytes = 16 << 10
	// maxContextBytes bounds what all hooks of a call add for the model.
	maxContextBytes = 64 << 10
	// maxDepth bounds how deep an answer is nested.
	maxDepth = 64
)

// answer is what a hook says.
type answer struct {
	Decision    Decision        `json:"decision"`
	Reason      string          `json:"reason"`
	UserMessage string          `json:"userMessage"`
	Patch       json.RawMessage `json:"patch"`
}

// readAnswer reads the output of a hook. Nothing at all means allow; members that it doesn't know are ignored.
func readAnswer(output []byte) (answer, *failure) {
	if len(output) > MaxOutputBytes {
		return answer{}, failed(nil, "its answer has more than %d bytes", MaxOutputBytes)
	}
	if len(bytes.TrimSpace(output)) == 0 {
		return answer{Decision: Allow}, nil
	}
	if !utf8.Valid(output) {
		return answer{}, failed(nil, "its answer is not valid UTF-8")
	}
	var a answer
	dec := json.NewDecoder(bytes.NewReader(output))
	if err := dec.Decode(&a); err != nil {
		return answer{}, failed(err, "its answer is not a JSON object with decision, reason, userMessage and patch")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return answer{}, failed(nil, "its answer is followed by something else")
	}
	if a.Decision == "" {
		return answer{}, failed(nil, "its answer has no decision")
	}
	return a, nil
}

// apply does what a hook says, or says why it can't be done; then nothing has changed.
func (s *state) apply(spec tools.HookSpec, a answer, ran *Ran) *failure {
	hasPatch := len(a.Patch) > 0 && string(bytes.TrimSpace(a.Patch)) != "null"
	switch a.Decision {
	case Allow:
	case Mutate:
		if !spec.Event.MayMutate() {
			return failed(nil, "hooks of %s can't change anything", spec.Event)
		}
		if !hasPatch {
			return failed(nil, "its decision is mutate, but it has no patch")
		}
		if problem := s.patch(a.Patch); problem != nil {
			return problem
		}
		s.out.Decision = Mutate
	case Block:
		if !spec.Event.MayBlock() {
			return failed(nil, "hooks of %s can't block", spec.Event)
		}
	default:
		return failed(nil, "its decision is %q; it must be allow, mutate or block", clean(string(a.Decision), 40))
	}
	if hasPatch && a.Decision != Mutate {
		return failed(nil, "it has a patch, but its decision is not mutate")
	}
	ran.Decision, ran.Reason = a.Decision, clean(a.Reason, maxReasonBytes)
	if a.Decision == Block {
		reason := ran.Reason
		if reason == "" {
			reason = "The hook " + spec.ID + " gave no reason."
		}
		s.block(spec.ID, reason, clean(a.UserMessage, maxUserMessageBytes))
	}
	return nil
}

// patch changes the event as a merge patch says (RFC 7396). The patch has members only of what the event lets hooks change.
func (s *state) patch(patch json.RawMessage) *failure {
	members, err := object(patch)
	if err != nil {
		return failed(err, "its patch can't be used: %v", err)
	}
	allowed := map[tools.HookEvent][]string{
		tools.HookUserPromptSubmit: {"message"},
		tools.HookPreToolUse:       {"arguments"},
		tools.HookPostToolUse:      {"result", "error", "additionalContext"},
	}[s.event.Name]
	for name := range members {
		known := false
		for _, a := range allowed {
			known = known || a == name
		}
		if !known {
			return failed(nil, "its patch changes %q; hooks of %s change %s", clean(name, 40), s.event.Name, strings.Join(allowed, ", "))
		}
	}
	if len(members) == 0 {
		return failed(nil, "its patch is empty")
	}
	switch s.event.Name {
	case tools.HookUserPromptSubmit:
		return s.patchMessage(members)
	case tools.HookPreToolUse:
		return s.patchArguments(members)
	default:
		return s.patchResult(members)
	}
}

func (s *state) patchMessage(members map[string]any) *failure {
	text, ok := members["message"].(string)
	if !ok || strings.TrimSpace(text) == "" {
		return failed(nil, "its message must be text that is not empty")
	}
	s.event.Message = text
	return nil
}

func (s *state) patchArguments(members map[string]any) *failure {
	if s.event.Call == nil {
		return failed(nil, "there are no arguments to change")
	}
	if _, ok := members["arguments"].(map[string]any); !ok {
		return failed(nil, "its arguments must be an object")
	}
	merged, err := merge(s.event.Call.Arguments, members["arguments"], tools.MaxArgumentsBytes)
	if err != nil {
		return failed(err, "its patch of the arguments can't be used: %v", err)
	}
	// The caller's call stays as it is.
	call := *s.event.Call
	call.Arguments = merged
	s.event.Call = &call
	return nil
}

func (s *state) patchResult(members map[string]any) *failure {
	result, text := s.event.Result, s.event.Error
	if v, given := members["error"]; given {
		switch v := v.(type) {
		case nil:
			text = ""
		case string:
			if text = clean(v, tools.MaxResultBytes); strings.TrimSpace(text) == "" {
				return failed(nil, "its error must not be empty")
			}
			// A call either failed or has a result: who gives an error takes the result away.
			result = nil
		default:
			return failed(nil, "its error must be text")
		}
	}
	if v, given := members["result"]; given {
		if v == nil {
			result = nil
		} else {
			// A patch of a result goes into it, also where there was none.
			merged, err := merge(result, v, 0)
			if err != nil {
				return failed(err, "its patch of the result can't be used: %v", err)
			}
			result = merged
			if _, both := members["error"].(string); both {
				return failed(nil, "it has both a result and an error")
			}
			text = ""
		}
	}
	if (len(result) == 0) == (text == "") {
		return failed(nil, "after its patch the call has neither a result nor an error")
	}
	more := ""
	if v, given := members["additionalContext"]; given && v != nil {
		var ok bool
		if more, ok = v.(string); !ok {
			return failed(nil, "its additionalContext must be text")
		}
		more = clean(more, maxContextBytes)
		used := len(more)
		for _, c := range s.out.Context {
			used += len(c)
		}
		if used > maxContextBytes {
			return failed(nil, "the hooks of this call add more than %d bytes of context", maxContextBytes)
		}
	}
	s.event.Result, s.event.Error = result, text
	if strings.TrimSpace(more) != "" {
		s.out.Context = append(s.out.Context, more)
	}
	return nil
}

// clean makes text of a hook fit to be stored and shown.
func clean(s string, limit int) string {
	return tools.Shorten(text.Clean(s), limit)
}
