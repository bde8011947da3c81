package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

const (
	waitsPath = "/v1/waits/"
	// waitBody bounds the body of a callback: the largest value, and what stands around it.
	waitBody = sessions.MaxResultBytes + 8<<10
)

// Waits resolves what turns wait for from outside.
type Waits interface {
	// ResolveWait resolves a wait by its bearer token. Only when the token is good does it ask for the outcome, on behalf of the
	// organization of the wait. Failures of the caller are a *fault.Error.
	ResolveWait(ctx context.Context, token string, outcome func(models.OrgID) (sessions.Outcome, error)) (sessions.Resolved, error)
}

// resolution is the answer to a callback.
type resolution struct {
	Resolution sessions.Resolved `json:"resolution"`
}

// resolveWait takes a callback. The token in the address is all that it needs: neither cookies nor other credentials count.
func (s *Server) resolveWait(w http.ResponseWriter, r *http.Request) {
	resolved, refused := s.takeCallback(w, r)
	if refused != nil {
		s.refuseImage(w, r, refused)
		return
	}
	status := http.StatusOK
	switch resolved {
	case sessions.AlreadyResolved:
		status = http.StatusConflict
	case sessions.Unknown:
		status = http.StatusNotFound
	case sessions.Accepted:
	}
	writeImageJSON(w, status, resolution{resolved})
}

func (s *Server) takeCallback(w http.ResponseWriter, r *http.Request) (sessions.Resolved, *imageError) {
	if s.deps.Waits == nil {
		return "", &imageError{Code: codeNotFound, Message: "This server does not accept callbacks.", status: http.StatusNotFound}
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return "", &imageError{Code: codeBadUserInput, Message: "Use POST here.", status: http.StatusMethodNotAllowed}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != mediaJSON {
		return "", &imageError{Code: codeBadUserInput, Message: "The body must be of the type " + mediaJSON + ".", status: http.StatusUnsupportedMediaType}
	}
	ctx := auth.WithRequest(r.Context(), s.requestInfo(r))
	var refused *imageError
	resolved, err := s.deps.Waits.ResolveWait(ctx, r.PathValue("token"), func(org models.OrgID) (out sessions.Outcome, err error) {
		if refused = s.writable(); refused == nil {
			out, refused = s.readOutcome(w, r, org)
		}
		if refused != nil {
			err = errOutcome
		}
		return out, err
	})
	switch {
	case refused != nil:
		return "", refused
	case err != nil:
		return "", s.callbackFailure(ctx, err)
	}
	return resolved, nil
}

// errOutcome ends a callback whose body was refused.
var errOutcome = errors.New("the outcome was refused")

// readOutcome reads the body: an object with value, or with errorCode and errorMessage.
func (s *Server) readOutcome(w http.ResponseWriter, r *http.Request, org models.OrgID) (out sessions.Outcome, refused *imageError) {
	body, release, err := s.readWhole(w, r, org, waitBody)
	if err != nil {
		return out, s.bodyFailure(err, callbackTooLarge())
	}
	defer release()
	err = decodeObject(body, func(name string, value json.RawMessage) error {
		switch name {
		case "value":
			out.Value = models.JSON(value)
			return nil
		case "errorCode":
			return optionalString(&out.ErrorCode, name, value)
		case "errorMessage":
			return optionalString(&out.ErrorMessage, name, value)
		}
		return errors.New("it may contain only value, or only errorCode and errorMessage")
	})
	if err == nil && out.Value == nil && out.ErrorCode == nil && out.ErrorMessage == nil {
		err = errors.New("it must have a value, which may be null, or an errorCode") // the token is good for one answer
	}
	if err != nil {
		return out, &imageError{Code: codeBadUserInput, Message: "The body can't be used: " + err.Error() + ".", status: http.StatusBadRequest}
	}
	return out, nil
}

func optionalString(to **string, name string, value json.RawMessage) error {
	if isNull(value) {
		return nil
	}
	s, err := decodeString(name, value)
	*to = &s
	return err
}

func callbackTooLarge() *imageError {
	return &imageError{
		Code: codePayloadTooLarge, status: http.StatusRequestEntityTooLarge,
		Message: "The value is too large: at most " + strconv.Itoa(sessions.MaxResultBytes) + " bytes are allowed.",
	}
}

// callbackFailure says what a service's error means to the caller. What is the server's own goes to the log only.
func (s *Server) callbackFailure(ctx context.Context, err error) *imageError {
	if fault.Is(err, fault.LimitReached) {
		return callbackTooLarge()
	}
	return s.imageFailure(ctx, err)
}

// loggedPath returns the path of a request as the log may have it: without the bearer tokens of waits, also where somebody has mistyped
// what stands before them.
func loggedPath(path string) string {
	if strings.HasPrefix(path, waitsPath) {
		return waitsPath + "…"
	}
	if before, _, found := strings.Cut(path, sessions.TokenPrefix); found {
		return before + "…"
	}
	return path
}
