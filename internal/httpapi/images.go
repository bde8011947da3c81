package httpapi

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxUploads and maxOrgUploads bound how many images are stored at once, on this node; more wait. They have arrived before.
	maxUploads    = 8
	maxOrgUploads = 4
	// maxDownloads and maxOrgDownloads bound how many leave at once; more wait. Readers may take their time, so those of one
	// organization must not hold all places.
	maxDownloads    = 16
	maxOrgDownloads = 6
)

// Images keeps images. Failures of the caller are a *fault.Error.
type Images interface {
	// Create stores what content holds. LIMIT_REACHED means that the organization has no room for it.
	Create(ctx context.Context, by *auth.Principal, name string, content []byte) (*models.Image, error)
	// Get finds an image of the organization; NOT_FOUND when it has none with this id.
	Get(ctx context.Context, org models.OrgID, id models.ImageID) (*models.Image, error)
	// Content reads what an image that Get gave holds.
	Content(ctx context.Context, image *models.Image) ([]byte, error)
}

// imageError is what callers of /v1/images and /v1/usage.csv are told. Codes are those of the API's top-level errors.
type imageError struct {
	Code              string `json:"code"`
	Message           string `json:"message"`
	RequestID         string `json:"requestId,omitempty"`
	RetryAfterSeconds int    `json:"retryAfterSeconds,omitempty"`

	status int
}

// uploaded describes an image that was stored.
type uploaded struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Size      int64  `json:"size"`
	URL       string `json:"url"`
}

// uploadImage stores the body as an image.
func (s *Server) uploadImage(w http.ResponseWriter, r *http.Request) {
	ctx, p, refused := s.imageCaller(w, r, http.MethodPost, auth.SessionsWrite)
	if refused == nil {
		refused = uploadable(r)
	}
	if refused == nil {
		refused = s.writable()
	}
	var image *models.Image
	if refused == nil {
		image, refused = s.receiveImage(ctx, w, r, p)
	}
	if refused != nil {
		s.refuseImage(w, r, refused)
		return
	}
	url := "/v1/images/" + image.ID.String()
	w.Header().Set("Location", url)
	writeImageJSON(w, http.StatusCreated, uploaded{
		ID: image.ID.String(), Name: image.Name, MediaType: image.MediaType, Width: image.Width, Height: image.Height, Size: image.Size, URL: url,
	})
}

// writable is engine.writable for uploads and callbacks.
func (s *Server) writable() *imageError {
	if e := s.engine.writable(); e != nil {
		return &imageError{Code: codeUnavailable, Message: e.Message, status: http.StatusServiceUnavailable}
	}
	return nil
}

// imageCaller finds out who is asking, and refuses whoever may not.
func (s *Server) imageCaller(w http.ResponseWriter, r *http.Request, method string, needs auth.Permission) (context.Context, *auth.Principal, *imageError) {
	switch {
	case s.deps.Images == nil:
		return nil, nil, &imageError{Code: codeNotFound, Message: "This server does not store images.", status: http.StatusNotFound}
	case r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead):
		w.Header().Set("Allow", method)
		return nil, nil, &imageError{Code: codeBadUserInput, Message: "Use " + method + " here.", status: http.StatusMethodNotAllowed}
	}
	return s.plainCaller(w, r, needs)
}

// plainCaller is who asks one of the addresses that are no GraphQL; it counts as a request of theirs.
func (s *Server) plainCaller(w http.ResponseWriter, r *http.Request, needs auth.Permission) (context.Context, *auth.Principal, *imageError) {
	ctx, unavailable := s.withCaller(w, r)
	if unavailable != nil {
		return nil, nil, &imageError{Code: codeUnavailable, Message: unavailable.Message, status: http.StatusServiceUnavailable}
	}
	p := auth.FromContext(ctx)
	switch {
	case p == nil:
		return nil, nil, &imageError{Code: codeUnauthenticated, Message: "Sign in first: the token is missing or no longer valid.", status: http.StatusUnauthorized}
	case !p.Can(needs):
		return nil, nil, lacks(needs)
	}
	if e := s.admit(ctx, p); e != nil {
		wait, _ := e.Extensions["retryAfterSeconds"].(int)
		return nil, nil, &imageError{Code: codeRateLimited, Message: e.Message, RetryAfterSeconds: wait, status: http.StatusTooManyRequests}
	}
	return ctx, p, nil
}

func lacks(needs auth.Permission) *imageError {
	return &imageError{Code: codeForbidden, Message: "You lack the permission " + needs.String() + " in this organization.", status: http.StatusForbidden}
}

// uploadable refuses bodies that are no image by their headers. What kind of image it is, the content says.
func uploadable(r *http.Request) *imageError {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	encoding := r.Header.Get("Content-Encoding")
	if strings.HasPrefix(media, "multipart/") || (encoding != "" && !strings.EqualFold(encoding, "identity")) {
		return &imageError{
			Code: codeBadUserInput, status: http.StatusUnsupportedMediaType,
			Message: "The body must be the image itself: send the file without a form and uncompressed.",
		}
	}
	return nil
}

// receiveImage reads the body, and then stores it as one of few at a time.
func (s *Server) receiveImage(ctx context.Context, w http.ResponseWriter, r *http.Request, p *auth.Principal) (*models.Image, *imageError) {
	body, release, err := s.readWhole(w, r, p.OrgID, s.cfg.Limits.ImageBytes)
	if err != nil {
		return nil, s.bodyFailure(err, s.imageTooLarge())
	}
	defer release()
	if err := s.uploads.Wait(ctx, p.OrgID); err != nil {
		return nil, s.imageFailure(ctx, err)
	}
	defer s.uploads.Leave(p.OrgID, 1)
	image, err := s.deps.Images.Create(ctx, p, r.URL.Query().Get("name"), body)
	if err != nil {
		return nil, s.imageFailure(ctx, err)
	}
	return image, nil
}

// bodyFailure says why readWhole has failed.
func (s *Server) bodyFailure(err error, tooLarge *imageError) *imageError {
	if errors.Is(err, errBodiesFull) {
		return &imageError{
			Code: codeRateLimited, RetryAfterSeconds: 1, status: http.StatusTooManyRequests,
			Message: "Your organization is sending too much at once. Try again in a moment.",
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	return &imageError{Code: codeBadUserInput, Message: "The body did not arrive completely in time.", status: http.StatusBadRequest}
}

func (s *Server) imageTooLarge() *imageError {
	return &imageError{
		Code: codePayloadTooLarge, status: http.StatusRequestEntityTooLarge,
		Message: "The image is too large: at most " + strconv.FormatInt(s.cfg.Limits.ImageBytes, 10) + " bytes are allowed.",
	}
}

// imageFailure says what a service's error means to the caller. What is the server's own goes to the log only.
func (s *Server) imageFailure(ctx context.Context, err error) *imageError {
	if f := fault.As(err); f != nil {
		e := &imageError{Code: codeBadUserInput, Message: f.Message, RetryAfterSeconds: f.RetryAfterSeconds, status: http.StatusBadRequest}
		switch f.Code {
		case fault.NotFound:
			// Without the id, so that the answer is the same for all that isn't there.
			e.Code, e.Message, e.status = codeNotFound, "There is no such image.", http.StatusNotFound
		case fault.LimitReached:
			e.Code, e.status = string(f.Code), http.StatusForbidden
		case fault.RateLimited:
			e.Code, e.status = codeRateLimited, http.StatusTooManyRequests
		}
		return e
	}
	if ctx.Err() != nil {
		return &imageError{Code: codeUnavailable, Message: "The request was cancelled before it ended.", status: http.StatusServiceUnavailable}
	}
	id := auth.RequestFrom(ctx).ID
	s.log.ErrorContext(ctx, "a request failed", "request_id", id, "error", err)
	return &imageError{
		Code: codeInternal, RequestID: id, status: http.StatusInternalServerError,
		Message: "Something went wrong on the server. The operator can find the cause in the log by the request id.",
	}
}

// refuseImage answers a request that failed. The rest of an upload is read, up to a bound, because closing a connection that still
// brings a body resets it, and the client may lose the answer.
func (s *Server) refuseImage(w http.ResponseWriter, r *http.Request, e *imageError) {
	if e.RetryAfterSeconds > 0 {
		w.Header().Set(retryHeader, strconv.Itoa(e.RetryAfterSeconds))
	}
	if r.Method == http.MethodPost {
		closeAfter(w, r)
		if r.Header.Get("Expect") == "" { // who asks before sending has sent nothing yet
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.BodyTimeout))
			_, _ = io.CopyN(io.Discard, r.Body, drainFactor*s.cfg.Limits.BodyBytes)
		}
	}
	writeImageJSON(w, e.status, e)
}

func writeImageJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", mediaJSON+"; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}

// serveImage sends an image. It never changes, so browsers may keep it; Vary keeps them from showing it to who signs in next.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request) {
	ctx, p, refused := s.imageCaller(w, r, http.MethodGet, auth.SessionsRead)
	if refused != nil {
		s.refuseImage(w, r, refused)
		return
	}
	image, err := s.findImage(ctx, p.OrgID, r.PathValue("id"))
	if err != nil {
		s.refuseImage(w, r, s.imageFailure(ctx, err))
		return
	}
	etag := `"` + hex.EncodeToString(image.Hash) + `"`
	fresh := slices.Contains(r.Header.Values("If-None-Match"), etag)
	var content []byte
	if !fresh {
		if s.downloads.Wait(ctx, p.OrgID) != nil {
			return // the client has gone
		}
		defer s.downloads.Leave(p.OrgID, 1)
		if content, err = s.deps.Images.Content(ctx, image); err != nil {
			s.refuseImage(w, r, s.imageFailure(ctx, err))
			return
		}
	}
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Vary", "Authorization, Cookie")
	// Opened on its own it is no page: nothing in it may run.
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	if fresh {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", image.MediaType)
	h.Set("Content-Disposition", disposition(image.Name))
	http.ServeContent(s.paced(w), r, "", time.Time{}, bytes.NewReader(content))
}

func (s *Server) findImage(ctx context.Context, org models.OrgID, id string) (*models.Image, error) {
	key, err := models.ParseID[models.ImageEntity](id)
	if err != nil {
		return nil, fault.New(fault.NotFound, "%s.", err)
	}
	return s.deps.Images.Get(ctx, org, key)
}

func disposition(name string) string {
	if name == "" {
		return "inline"
	}
	return mime.FormatMediaType("inline", map[string]string{"filename": name})
}
