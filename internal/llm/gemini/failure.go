package gemini

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/llm"
)

// wireError is how Google's APIs tell of an error, in a body and in a stream.
type wireError struct {
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
		Details []struct {
			Type       string `json:"@type"`
			Reason     string `json:"reason"`
			RetryDelay string `json:"retryDelay"`
			Violations []struct {
				QuotaID string `json:"quotaId"`
			} `json:"violations"`
		} `json:"details"`
	} `json:"error"`
}

// readRefusal reads an error's body. What is none, e.g. a proxy's page, has nothing to say to users.
func readRefusal(r *llm.Refusal, body []byte) {
	var e wireError
	if json.Unmarshal(body, &e) != nil {
		// Without sse, streams are lists; some servers answer so.
		var list []wireError
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return
		}
		e = list[0]
	}
	e.fill(r)
}

// fill tells what an error says in the words that llm.RefusalError knows.
func (e *wireError) fill(r *llm.Refusal) {
	if e.Error == nil {
		return
	}
	r.Type, r.Message = e.Error.Status, e.Error.Message
	if r.Status == 0 {
		r.Status = e.status()
	}
	var delay time.Duration
	soon := false
	for _, d := range e.Error.Details {
		if d.Reason == "API_KEY_INVALID" {
			// Google answers 400 to a wrong key.
			r.Status = http.StatusUnauthorized
		}
		if given, err := time.ParseDuration(d.RetryDelay); err == nil && given > 0 {
			delay = given
		}
		for _, v := range d.Violations {
			soon = soon || strings.Contains(v.QuotaID, "PerMinute")
		}
	}
	if r.Status == http.StatusTooManyRequests && soon {
		// The text of every 429 speaks of quota and billing; this one passes within a minute.
		r.Message = ""
	}
	if delay > 0 && r.Header.Get("Retry-After") == "" {
		r.Header = r.Header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set("Retry-After", strconv.FormatFloat(delay.Seconds(), 'f', 3, 64))
	}
}

// status returns the HTTP status of an error inside a stream.
func (e *wireError) status() int {
	if e.Error.Code >= http.StatusBadRequest && e.Error.Code < 600 {
		return e.Error.Code
	}
	switch e.Error.Status {
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE":
		return http.StatusBadRequest
	case "UNAUTHENTICATED":
		return http.StatusUnauthorized
	case "PERMISSION_DENIED":
		return http.StatusForbidden
	case "NOT_FOUND":
		return http.StatusNotFound
	case "RESOURCE_EXHAUSTED":
		return http.StatusTooManyRequests
	case "UNAVAILABLE":
		return http.StatusServiceUnavailable
	case "DEADLINE_EXCEEDED":
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// isRefusal reports whether err is the provider's own word.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*llm.Error](err)
	return ok
}
