package webhooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a database with the real committer, which writes the feeds.
type world struct {
	*webhooks.Service

	t         *testing.T
	db        *store.DB
	clock     *clock.Manual
	keeper    *secrets.Keeper
	client    *egress.Client
	committer *commit.Committer
	// committed hears what was committed.
	committed func(*commit.Committed)
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{t: t, db: db, clock: clock.NewManual(start), committed: func(*commit.Committed) {}}
	var err error
	if w.keeper, err = secrets.NewKeeper(bytes.Repeat([]byte{7}, 32)); err != nil {
		t.Fatal(err)
	}
	w.client = egress.New(egress.Config{AllowLoopback: true})
	t.Cleanup(w.client.CloseIdleConnections)
	w.Service, err = webhooks.NewService(webhooks.Config{DB: db, Keeper: w.keeper, Clock: w.clock, Addresses: w.client})
	if err != nil {
		t.Fatal(err)
	}
	w.committer = commit.New(commit.Config{
		DB: db, Clock: w.clock, Logger: slog.New(slog.DiscardHandler),
	})
	w.committer.Observe(func(c *commit.Committed) { w.committed(c) })
	t.Cleanup(w.committer.Stop)
	return w
}

// begin starts a dispatcher.
func begin(t *testing.T, d *webhooks.Dispatcher) {
	t.Helper()
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// dispatcher makes one, as in a process of its own.
func (w *world) dispatcher(change func(*webhooks.DispatcherConfig)) *webhooks.Dispatcher {
	w.t.Helper()
	cfg := webhooks.DispatcherConfig{
		DB: w.db, Keeper: w.keeper, Client: w.client.HTTP(), Clock: w.clock, Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
		Chance: func() float64 { return 0.5 },
	}
	if change != nil {
		change(&cfg)
	}
	cfg.Feed = events.NewLog(cfg.DB)
	d, err := webhooks.NewDispatcher(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(d.Stop)
	return d
}

// run makes all deliveries and sends what is due.
func (w *world) run(d *webhooks.Dispatcher) {
	w.t.Helper()
	if err := d.Feed(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if err := d.Send(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

// tenant is an organization with a session.
type tenant struct {
	w       *world
	by      *auth.Principal
	harness models.HarnessID
	session models.SessionID
}

func (w *world) tenant() *tenant {
	w.t.Helper()
	n := &tenant{w: w, harness: models.NewID[models.HarnessEntity](), by: &auth.Principal{
		OrgID: models.NewID[models.OrgEntity](), UserID: models.NewID[models.UserEntity](),
	}}
	err := w.db.WriteAcross(w.t.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&models.Org{ID: n.by.OrgID, Name: "o", Slug: n.by.OrgID.String(), CreatedAt: 1}).Error; err != nil {
			return err
		}
		return tx.Create(&models.Harness{
			OrgID: n.by.OrgID, ID: n.harness, Name: "h", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive,
		}).Error
	})
	if err != nil {
		w.t.Fatal(err)
	}
	n.session = n.newSession()
	return n
}

type command struct {
	needs commit.Needs
	apply func(tx *commit.Tx) error
}

func (c command) Needs() commit.Needs       { return c.needs }
func (c command) Apply(tx *commit.Tx) error { return c.apply(tx) }

func (n *tenant) newSession() models.SessionID {
	n.w.t.Helper()
	id := models.NewID[models.SessionEntity]()
	err := n.w.committer.Submit(n.w.t.Context(), command{commit.Needs{Org: n.by.OrgID, Session: id, Create: true, Bytes: 100}, func(tx *commit.Tx) error {
		tx.CreateSession(models.Session{
			OrgID: n.by.OrgID, ID: id, HarnessID: n.harness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now, Status: models.SessionStarted,
		})
		tx.Emit(nil, events.SessionStarted{HarnessID: n.harness})
		return nil
	}})
	if err != nil {
		n.w.t.Fatal(err)
	}
	return id
}

// happens commits events of the tenant's session.
func (n *tenant) happens(list ...events.Payload) {
	n.w.t.Helper()
	n.happensIn(n.session, list...)
}

func (n *tenant) happensIn(session models.SessionID, list ...events.Payload) {
	n.w.t.Helper()
	err := n.w.committer.Submit(n.w.t.Context(), command{commit.Needs{Org: n.by.OrgID, Session: session, Bytes: 100}, func(tx *commit.Tx) error {
		for _, p := range list {
			tx.Emit(nil, p)
		}
		return nil
	}})
	if err != nil {
		n.w.t.Error(err)
	}
}

func titled(title string) events.Payload { return events.SessionTitleChanged{Title: &title} }

// titles are those that the webhooks of most tests want to hear of.
var titles = []models.EventKind{models.EventSessionTitleChanged}

func (n *tenant) webhook(url string, kinds ...models.EventKind) (*models.Webhook, []byte) {
	n.w.t.Helper()
	if kinds == nil {
		kinds = titles
	}
	row, secret, err := n.w.Create(n.w.t.Context(), n.by, url, kinds)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return row, secret
}

// deliveries returns those of a webhook, the oldest first.
func (n *tenant) deliveries(webhook *models.Webhook) []models.WebhookDelivery {
	n.w.t.Helper()
	var list []models.WebhookDelivery
	err := store.Of(n.w.db.Read(n.w.t.Context(), n.by.OrgID), n.by.OrgID).Where("webhook_id = ?", webhook.ID).Order("id").Find(&list).Error
	if err != nil {
		n.w.t.Fatal(err)
	}
	return list
}

func (n *tenant) reload(webhook *models.Webhook) *models.Webhook {
	n.w.t.Helper()
	row, err := n.w.Webhook(n.w.t.Context(), n.by.OrgID, webhook.ID)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return row
}

// recorded returns what the audit tells, the oldest first.
func (n *tenant) recorded() []string {
	n.w.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(n.w.db.Read(n.w.t.Context(), n.by.OrgID), n.by.OrgID).Order("position").Find(&list).Error; err != nil {
		n.w.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Action+" "+string(e.ActorKind))
	}
	return out
}

// got is a request that a receiver has had.
type got struct {
	told

	Delivery, Kind, Signature, Agent, Type, Method, Body string
}

// told is what the body of a request has.
type told struct {
	ID        string `json:"id"`
	EventID   string `json:"eventId"`
	SessionID string `json:"sessionId"`
	Data      struct {
		Title string `json:"title"`
	} `json:"data"`
}

// receiver is a real one, which keeps what it gets.
type receiver struct {
	*httptest.Server

	t  *testing.T
	mu sync.Mutex
	// answer decides what to say; 204 when it is nil.
	answer func(w http.ResponseWriter, r *http.Request, n int)
	had    []got
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	g := got{
		Delivery: req.Header.Get("Ostler-Delivery"), Kind: req.Header.Get("Ostler-Event"), Signature: req.Header.Get("Ostler-Signature"),
		Agent: req.UserAgent(), Type: req.Header.Get("Content-Type"), Method: req.Method, Body: string(body),
	}
	if err != nil || json.Unmarshal(body, &g.told) != nil {
		r.t.Errorf("the body is %q, %v", body, err)
	}
	r.mu.Lock()
	r.had = append(r.had, g)
	n, answer := len(r.had), r.answer
	r.mu.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(w, req, n)
}

func (r *receiver) all() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.had...)
}

func (r *receiver) titles() string {
	var list []string
	for _, g := range r.all() {
		list = append(list, g.Data.Title)
	}
	return strings.Join(list, " ")
}

// says answers with a status.
func says(status int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(status) }
}

// verify is what a receiver does; see docs/webhooks.md.
func verify(secret []byte, body, header string, now time.Time) bool {
	parts := strings.Split(header, ",")
	t, ok := strings.CutPrefix(parts[0], "t=")
	seconds, err := strconv.ParseInt(t, 10, 64)
	if !ok || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t + "." + body))
	want := mac.Sum(nil)
	for _, part := range parts[1:] {
		sum, ok := strings.CutPrefix(part, "v1=")
		signature, err := hex.DecodeString(sum)
		if ok && err == nil && hmac.Equal(signature, want) {
			return true
		}
	}
	return false
}

// within fails a test that waits for what doesn't come.
func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%s did not happen", what)
	}
}
