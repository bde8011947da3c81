package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
)

// report is what a server tells of an error.
type report struct {
	// kind holds type, code and parameter; code is the number that was given as a code, 0 for none.
	kind, message string
	code          int
}

// readRefusal reads an error's body. With the status of a success it is one only if it says so.
func readRefusal(r *llm.Refusal, body []byte) {
	said := parseReport(body, r.Header.Get("Content-Type"))
	if r.Status < http.StatusBadRequest {
		if !hasError(body) {
			return
		}
		r.Status = said.status()
	}
	r.Type, r.Message = said.kind, said.message
}

// parseReport reads the forms in which servers tell errors: OpenAI's {"error": {…}}, a text in its place, the same in a list, the error's
// fields on the top level, {"detail": …}, or plain text.
func parseReport(body []byte, contentType string) report {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		if len(body) == 0 || body[0] == '<' || body[0] == '{' || body[0] == '[' || strings.Contains(contentType, "html") {
			return report{} // a page is no message
		}
		return report{message: string(body)}
	}
	if isSet(outer.Error) {
		return errorFields(outer.Error)
	}
	if isSet(outer.Detail) {
		r := errorFields(outer.Detail)
		if r.message == "" {
			r.message = string(outer.Detail)
		}
		return r
	}
	return errorFields(body)
}

// errorFields reads an error, which is an object or only a text.
func errorFields(raw json.RawMessage) report {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return report{message: text}
	}
	var fields struct {
		Type    loose `json:"type"`
		Code    loose `json:"code"`
		Param   loose `json:"param"`
		Message loose `json:"message"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return report{}
	}
	r := report{message: fields.Message.text}
	r.kind = strings.Join(strings.Fields(fields.Type.text+" "+fields.Code.text+" "+fields.Param.text), " ")
	if _, err := fmt.Sscanf(fields.Code.text, "%d", &r.code); err != nil {
		r.code = 0
	}
	return r
}

// hasError reports whether an object says that it is an error.
func hasError(body []byte) bool {
	var o struct {
		Object loose           `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &o) == nil && (isSet(o.Error) || o.Object.text == "error")
}

// isSet reports whether a field is there and says something.
func isSet(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "false":
		return false
	}
	return true
}

// loose is a string that some servers write as a number, and some as nothing.
type loose struct{ text string }

// UnmarshalJSON implements json.Unmarshaler.
func (l *loose) UnmarshalJSON(b []byte) error {
	l.text = ""
	if b[0] == '"' {
		return json.Unmarshal(b, &l.text)
	}
	if b[0] == '-' || b[0] >= '0' && b[0] <= '9' {
		l.text = string(b)
	}
	return nil
}

// status returns the HTTP status that an error in a stream stands for. What is not known counts as a failure of the server: the request
// had been taken.
func (r report) status() int {
	if r.code >= 400 && r.code < 600 {
		return r.code
	}
	kind := strings.ToLower(r.kind)
	for _, row := range [...]struct {
		status int
		words  []string
	}{
		{http.StatusTooManyRequests, []string{"rate_limit", "ratelimit", "too_many_requests", "quota", "billing"}},
		{http.StatusServiceUnavailable, []string{"overloaded", "unavailable", "timeout"}},
		{http.StatusInternalServerError, []string{"server_error", "internal"}},
		{http.StatusUnauthorized, []string{"api_key", "authentication", "unauthorized", "permission"}},
		{http.StatusNotFound, []string{"not_found", "notfound"}},
		{http.StatusBadRequest, []string{"invalid", "context_length", "unsupported", "bad_request", "badrequest", "content_policy"}},
	} {
		for _, w := range row.words {
			if strings.Contains(kind, w) {
				return row.status
			}
		}
	}
	return http.StatusInternalServerError
}
