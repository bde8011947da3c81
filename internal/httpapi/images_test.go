package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// gallery is a server with two organizations, whose owners have the tokens "good" and "theirs". "viewer" may only look.
func gallery(t *testing.T, db *store.DB, wrap ...func(Images) Images) *bench {
	t.Helper()
	b := &bench{T: t, stub: &stub{}, clock: clock.NewManual(start), log: &syncBuffer{}, people: &people{tokens: map[string]*auth.Principal{}}}
	for _, token := range []string{"good", "theirs"} {
		p := owner()
		p.OrgID, p.UserID = models.NewID[models.OrgEntity](), models.NewID[models.UserEntity]()
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Create(&models.Org{ID: p.OrgID, Name: token, Slug: token, CreatedAt: 1}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		b.people.set(token, p)
		if token == "good" {
			viewer, nobody := *p, *p
			viewer.Permissions = auth.RolePermissions(models.RoleViewer, false)
			nobody.Permissions = 0
			b.people.set("viewer", &viewer)
			b.people.set("nothing", &nobody)
		}
	}
	var images Images = sessions.NewImages(db, b.clock, nil)
	for _, w := range wrap {
		images = w(images)
	}
	server, err := New(Config{PublicURL: "http://ostler.test", Limits: Limits{ImageBytes: 4 << 20}}, Dependencies{
		Logger:        slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Schema:        generated.NewExecutableSchema(generated.Config{Resolvers: b.stub}),
		Authenticator: b.people, Images: images, Clock: b.clock,
		Dashboard: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>dashboard")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.server = server
	listener := httptest.NewServer(server.Handler())
	b.url = listener.URL
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return b
}

func aPNG(t *testing.T) string {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func as(token string) func(*http.Request) { return with("Authorization", "Bearer "+token) }

// failure reads the code and the message of an answer.
func (a answer) failure(t *testing.T) (code, message string) {
	t.Helper()
	var e struct{ Code, Message string }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Message == "" {
		t.Errorf("%d %s: %v", a.status, a.body, err)
	}
	return e.Code, e.Message
}

func TestAnImageComesBackAsItWasSent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := gallery(t, db)
		content := aPNG(t)
		// What a browser's fetch sends for a File.
		up := b.do(http.MethodPost, "/v1/images?name=cat%20%E2%9C%93.png", content, signedIn, with("Content-Type", "image/png"))
		var made uploaded
		if err := json.Unmarshal([]byte(up.body), &made); err != nil || up.status != http.StatusCreated || made.MediaType != "image/png" || made.Width != 3 ||
			made.Height != 2 || made.Size != int64(len(content)) || made.Name != "cat ✓.png" || made.URL != "/v1/images/"+made.ID || up.header.Get("Location") != made.URL {
			t.Fatalf("%d %s: %v", up.status, up.body, err)
		}
		got := b.do(http.MethodGet, made.URL, "", as("viewer"))
		if got.status != http.StatusOK || got.body != content {
			t.Fatalf("%d, %d bytes", got.status, len(got.body))
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
			"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Authorization, Cookie", "Cross-Origin-Resource-Policy": "same-origin",
			"Content-Disposition": "inline; filename*=utf-8''cat%20%E2%9C%93.png",
		} {
			if have := got.header.Get(name); have != want {
				t.Errorf("%s is %q, want %q", name, have, want)
			}
		}
		etag := got.header.Get("ETag")
		for _, value := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
			if a := b.do(http.MethodGet, made.URL, "", signedIn, with("If-None-Match", value)); etag == "" || a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != etag {
				t.Errorf("If-None-Match %s: %d, %d bytes", value, a.status, len(a.body))
			}
		}
		if a := b.do(http.MethodGet, made.URL, "", signedIn, with("If-None-Match", `"other"`)); a.status != http.StatusOK || a.body != content {
			t.Errorf("another ETag: %d", a.status)
		}
		if a := b.do(http.MethodHead, made.URL, "", signedIn); a.status != http.StatusOK || a.body != "" || a.header.Get("Content-Type") != "image/png" {
			t.Errorf("HEAD: %d %v", a.status, a.header)
		}
		if strings.Contains(b.log.String(), "cat") {
			t.Error("the name of an image is in the log")
		}
	})
}

func TestForeignImagesAnswerLikeUnknownOnes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		b := gallery(t, db)
		var made uploaded
		up := b.do(http.MethodPost, "/v1/images", aPNG(t), signedIn)
		if err := json.Unmarshal([]byte(up.body), &made); err != nil || up.status != http.StatusCreated {
			t.Fatalf("%d %s: %v", up.status, up.body, err)
		}
		etag := b.do(http.MethodGet, made.URL, "", signedIn).header.Get("ETag")
		unknown := b.do(http.MethodGet, "/v1/images/"+models.NewID[models.ImageEntity]().String(), "", as("theirs"))
		if code, _ := unknown.failure(t); unknown.status != http.StatusNotFound || code != codeNotFound {
			t.Errorf("unknown: %d %s", unknown.status, unknown.body)
		}
		for _, path := range []string{made.URL, "/v1/images/x", "/v1/images/" + strings.ToUpper(made.ID), "/v1/images/img_", "/v1/images/%00"} {
			for _, ifNone := range []string{"", etag, "*"} {
				a := b.do(http.MethodGet, path, "", as("theirs"), with("If-None-Match", ifNone))
				if a.status != unknown.status || a.body != unknown.body || a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != unknown.header.Get("Cache-Control") {
					t.Errorf("%s with If-None-Match %q: %d %s", path, ifNone, a.status, a.body)
				}
			}
		}
	})
}

func TestUploadsThatAreRefused(t *testing.T) {
	b := gallery(t, storetest.SQLite(t))
	content := aPNG(t)
	large := content + strings.Repeat("x", 4<<20)
	unknownLength := func(r *http.Request) { r.ContentLength = -1 }
	for name, c := range map[string]struct {
		method, path, body string
		change             []func(*http.Request)
		status             int
		code               string
	}{
		"nobody":           {http.MethodPost, "/v1/images", content, nil, 401, codeUnauthenticated},
		"a bad token":      {http.MethodPost, "/v1/images", content, []func(*http.Request){as("bad")}, 401, codeUnauthenticated},
		"a viewer":         {http.MethodPost, "/v1/images", content, []func(*http.Request){as("viewer")}, 403, codeForbidden},
		"no reader":        {http.MethodGet, "/v1/images/img_1", "", []func(*http.Request){as("nothing")}, 403, codeForbidden},
		"nobody reads":     {http.MethodGet, "/v1/images/img_1", "", nil, 401, codeUnauthenticated},
		"a list":           {http.MethodGet, "/v1/images", "", []func(*http.Request){signedIn}, 405, codeBadUserInput},
		"a deletion":       {http.MethodDelete, "/v1/images/img_1", "", []func(*http.Request){signedIn}, 405, codeBadUserInput},
		"text":             {http.MethodPost, "/v1/images", "hello", []func(*http.Request){signedIn}, 400, codeBadUserInput},
		"nothing":          {http.MethodPost, "/v1/images", "", []func(*http.Request){signedIn}, 400, codeBadUserInput},
		"a bad name":       {http.MethodPost, "/v1/images?name=a%00", content, []func(*http.Request){signedIn}, 400, codeBadUserInput},
		"a form":           {http.MethodPost, "/v1/images", content, []func(*http.Request){signedIn, with("Content-Type", "multipart/form-data; boundary=x")}, 415, codeBadUserInput},
		"compressed":       {http.MethodPost, "/v1/images", content, []func(*http.Request){signedIn, with("Content-Encoding", "gzip")}, 415, codeBadUserInput},
		"too large":        {http.MethodPost, "/v1/images", large, []func(*http.Request){signedIn}, 413, codePayloadTooLarge},
		"too large, piped": {http.MethodPost, "/v1/images", large, []func(*http.Request){signedIn, unknownLength}, 413, codePayloadTooLarge},
		"another origin":   {http.MethodPost, "/v1/images", content, []func(*http.Request){with("Cookie", accessCookie+"=good"), with("Origin", "http://evil.test"), with("Sec-Fetch-Site", "cross-site")}, 403, ""},
	} {
		a := b.do(c.method, c.path, c.body, c.change...)
		if a.status != c.status {
			t.Errorf("%s: %d %s", name, a.status, a.body)
			continue
		}
		if c.code == "" {
			continue
		}
		if code, _ := a.failure(t); code != c.code {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if a := b.do(http.MethodPost, "/v1/images", content, with("Cookie", accessCookie+"=good"), with("Origin", "http://ostler.test"), with("Sec-Fetch-Site", "same-origin")); a.status != http.StatusCreated {
		t.Errorf("a cookie from the own origin: %d %s", a.status, a.body)
	}
	b.people.fail(errors.New("secret trouble"))
	if a := b.do(http.MethodPost, "/v1/images", content, signedIn); a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "secret") {
		t.Errorf("without authentication: %d %s", a.status, a.body)
	}
}

// slowImages tells when an upload has begun and waits for its permission to go on.
type slowImages struct {
	Images
	begun chan struct{}
	goOn  chan error
}

func (s *slowImages) Create(ctx context.Context, by *auth.Principal, name string, content []byte) (*models.Image, error) {
	s.begun <- struct{}{}
	if err := <-s.goOn; err != nil {
		return nil, err
	}
	return s.Images.Create(ctx, by, name, content)
}

// fullImages is a store of images whose organization has no room for another.
type fullImages struct{ Images }

func (fullImages) Create(context.Context, *auth.Principal, string, []byte) (*models.Image, error) {
	return nil, fault.New(fault.LimitReached, "There is no room for more.")
}

// Who has stored all that the organization may store is told that, not that the image is too large.
func TestAnImageOverTheQuotaIsToldSo(t *testing.T) {
	b := gallery(t, storetest.SQLite(t), func(i Images) Images { return fullImages{i} })
	a := b.do(http.MethodPost, "/v1/images", aPNG(t), signedIn)
	if code, message := a.failure(t); a.status != http.StatusForbidden || code != "LIMIT_REACHED" || message != "There is no room for more." {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestFewImagesArriveAtOnce(t *testing.T) {
	slow := &slowImages{begun: make(chan struct{}), goOn: make(chan error)}
	b := gallery(t, storetest.SQLite(t), func(i Images) Images { slow.Images = i; return slow })
	content := aPNG(t)
	answers := make(chan answer)
	for range maxOrgUploads {
		go func() { answers <- b.do(http.MethodPost, "/v1/images", content, signedIn) }()
		<-slow.begun
	}
	// One more waits.
	go func() { answers <- b.do(http.MethodPost, "/v1/images", content, signedIn) }()
	// There is room for others.
	go func() { answers <- b.do(http.MethodPost, "/v1/images", content, as("theirs")) }()
	<-slow.begun
	select {
	case <-slow.begun:
		t.Error("one organization stores more images at once than it may")
	default:
	}
	go func() { <-slow.begun }()
	for range maxOrgUploads + 2 {
		slow.goOn <- nil
		if a := <-answers; a.status != http.StatusCreated {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	// A failure of the server's own gives its place back too, and its cause to the log alone.
	for range maxOrgUploads + 1 {
		go func() { answers <- b.do(http.MethodPost, "/v1/images", content, signedIn) }()
		<-slow.begun
		slow.goOn <- errors.New("secret table")
		a := <-answers
		if code, _ := a.failure(t); a.status != http.StatusInternalServerError || code != codeInternal || strings.Contains(a.body, "secret") {
			t.Errorf("a defect: %d %s", a.status, a.body)
		}
	}
	if !strings.Contains(b.log.String(), "secret table") {
		t.Error("the cause is not in the log")
	}
}

// heldImages holds the content of one organization's images back.
type heldImages struct {
	Images
	begun chan struct{}
	goOn  chan struct{}
	org   models.OrgID
}

func (h *heldImages) Content(ctx context.Context, image *models.Image) ([]byte, error) {
	if image.OrgID == h.org {
		h.begun <- struct{}{}
		<-h.goOn
	}
	return h.Images.Content(ctx, image)
}

func TestDownloadsOfOneOrganizationLeaveRoomForOthers(t *testing.T) {
	held := &heldImages{begun: make(chan struct{}), goOn: make(chan struct{})}
	b := gallery(t, storetest.SQLite(t), func(i Images) Images { held.Images = i; return held })
	held.org = b.people.tokens["good"].OrgID
	upload := func(token string) (made uploaded) {
		if a := b.do(http.MethodPost, "/v1/images", aPNG(t), as(token)); json.Unmarshal([]byte(a.body), &made) != nil || a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return made
	}
	ours, theirs := upload("good").URL, upload("theirs").URL
	const asked = 2 * maxDownloads
	answers := make(chan answer)
	for range asked {
		go func() { answers <- b.do(http.MethodGet, ours, "", signedIn) }()
	}
	for range maxOrgDownloads {
		<-held.begun
	}
	if a := b.do(http.MethodGet, theirs, "", as("theirs")); a.status != http.StatusOK {
		t.Errorf("an image of others: %d", a.status)
	}
	select {
	case <-held.begun:
		t.Error("one organization has more downloads at once than it may")
	default:
	}
	go func() {
		for range asked - maxOrgDownloads {
			<-held.begun
		}
	}()
	for range asked {
		held.goOn <- struct{}{}
		if a := <-answers; a.status != http.StatusOK {
			t.Errorf("a download that waited: %d", a.status)
		}
	}
	if n := b.server.downloads.Held(held.org); n != 0 {
		t.Errorf("%d places are left", n)
	}
}

// Uploads that drip keep nobody out: neither their own organization nor others.
func TestUploadsThatDripTakeNoPlace(t *testing.T) {
	b := gallery(t, storetest.SQLite(t))
	for range 100 {
		_, _ = io.WriteString(b.raw(), "POST /v1/images HTTP/1.1\r\nHost: ostler.test\r\nAuthorization: Bearer good\r\nContent-Length: 4000000\r\n\r\nx")
	}
	for _, token := range []string{"good", "theirs"} {
		if a := b.do(http.MethodPost, "/v1/images", aPNG(t), as(token)); a.status != http.StatusCreated {
			t.Errorf("%s, beside a hundred that drip: %d %s", token, a.status, a.body)
		}
	}
}

// What arrives is held in memory: one organization may not hold all of it, and another one can always send an image.
func TestOneOrganizationDoesNotFillTheMemoryOfUploads(t *testing.T) {
	b := gallery(t, storetest.SQLite(t))
	p := b.people.tokens["good"]
	all := b.server.bodies.Places
	if !b.server.bodies.Try(p.OrgID, all-all/4) {
		t.Fatal("it may have three quarters")
	}
	a := b.do(http.MethodPost, "/v1/images", strings.Repeat("x", 1<<20), signedIn)
	if code, _ := a.failure(t); a.status != http.StatusTooManyRequests || code != codeRateLimited || a.header.Get("Retry-After") != "1" {
		t.Errorf("more than its share: %d %s", a.status, a.body)
	}
	if n := b.server.bodies.Held(p.OrgID); n != all-all/4 {
		t.Errorf("it holds %d places after a refusal, of %d", n, all)
	}
	large := aPNG(t) + strings.Repeat("x", 4<<20-len(aPNG(t)))
	if a := b.do(http.MethodPost, "/v1/images", large, as("theirs")); a.status != http.StatusCreated {
		t.Errorf("the largest image of another organization: %d %s", a.status, a.body)
	}
	if n := b.server.bodies.Held(b.people.tokens["theirs"].OrgID); n != 0 {
		t.Errorf("it holds %d places afterwards", n)
	}
}

// Who is slower than the least rate is cut off: one that sends, and one that reads.
func TestWhoStandsStillIsCutOff(t *testing.T) {
	b := gallery(t, storetest.SQLite(t))
	b.server.cfg.StallTimeout = 50 * time.Millisecond
	b.server.cfg.BodyTimeout = time.Millisecond // what is left of the body is not waited for either
	conn := b.raw()
	_, _ = io.WriteString(conn, "POST /v1/images HTTP/1.1\r\nHost: ostler.test\r\nAuthorization: Bearer good\r\nContent-Length: 4000000\r\n\r\nx")
	if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), "400 Bad Request") {
		t.Errorf("a body that drips: %q, %v", answer, err)
	}
	w := b.server.paced(&deadlines{ResponseWriter: httptest.NewRecorder()})
	w.pace.took(time.Now().Add(-time.Hour), 0)
	if _, err := w.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reader that stands still: %v", err)
	}
	w.pace.took(time.Now(), 64<<10)
	if _, err := w.Write([]byte("x")); err != nil {
		t.Errorf("a reader that goes on: %v", err)
	}
}

// deadlines is an answer that can't be written after its deadline.
type deadlines struct {
	http.ResponseWriter

	at time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error { d.at = at; return nil }

func (d *deadlines) Write(b []byte) (int, error) {
	if !time.Now().Before(d.at) {
		return 0, os.ErrDeadlineExceeded
	}
	return d.ResponseWriter.Write(b)
}

func TestABodyThatBreaksOffIsNoImage(t *testing.T) {
	b := gallery(t, storetest.SQLite(t))
	r := httptest.NewRequest(http.MethodPost, "/v1/images", io.MultiReader(strings.NewReader(aPNG(t)), brokenReader{}))
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	b.server.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "completely in time") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWithoutImagesThereIsNoSuchAddress(t *testing.T) {
	b := setup(t)
	for _, path := range []string{"/v1/images", "/v1/images/img_1"} {
		if a := b.do(http.MethodPost, path, "x", signedIn); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
