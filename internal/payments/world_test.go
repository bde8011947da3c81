package payments_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/callbacks"
	"github.com/ostler-dev/ostler/internal/tools/core"
)

const (
	one    = models.Amount(1_000_000_000) // usd
	secret = "0123456789abcdef0123456789abcdef"
)

// world is a database with the real committer, and a rail.
type world struct {
	*payments.Service

	t         *testing.T
	db        *store.DB
	clock     *clock.Manual
	keeper    *secrets.Keeper
	committer *commit.Committer
	rail      *rail
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newWorld(t, db)) })
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{t: t, db: db, clock: clock.NewManual(time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC))}
	var err error
	if w.keeper, err = secrets.NewKeeper(bytes.Repeat([]byte{7}, 32)); err != nil {
		t.Fatal(err)
	}
	w.committer = commit.New(commit.Config{DB: db, Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(w.committer.Stop)
	w.rail = newRail(t)
	w.Service = w.process(nil)
	return w
}

// process makes a service, as in a process of its own.
func (w *world) process(change func(*payments.Config)) *payments.Service {
	w.t.Helper()
	client := egress.New(egress.Config{AllowLoopback: true})
	w.t.Cleanup(client.CloseIdleConnections)
	registry, err := tools.NewRegistry(core.Capability(), callbacks.Capability())
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := payments.Config{
		DB: w.db, Committer: w.committer, Keeper: w.keeper, Capabilities: registry, Addresses: client, Client: client.HTTP(),
		Clock: w.clock, Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := payments.NewService(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// sweep lets another process look after what is due after so long.
func (w *world) sweep(after time.Duration) {
	w.t.Helper()
	w.clock.Advance(after)
	if err := w.process(nil).Sweep(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

// tenant is an organization with a session, whose turn runs under the epoch 1.
type tenant struct {
	w       *world
	by      *auth.Principal
	harness models.HarnessID
	session models.SessionID
	turn    models.TurnID
}

type command struct {
	needs commit.Needs
	apply func(tx *commit.Tx) error
}

func (c command) Needs() commit.Needs       { return c.needs }
func (c command) Apply(tx *commit.Tx) error { return c.apply(tx) }

func (w *world) tenant() *tenant {
	w.t.Helper()
	n := &tenant{w: w, harness: models.NewID[models.HarnessEntity](), by: &auth.Principal{
		OrgID: models.NewID[models.OrgEntity](), UserID: models.NewID[models.UserEntity](),
	}}
	n.store(&models.Org{ID: n.by.OrgID, Name: "o", Slug: n.by.OrgID.String(), CreatedAt: 1})
	n.store(&models.Harness{OrgID: n.by.OrgID, ID: n.harness, Name: "h", Capabilities: []models.CapabilityRef{}, Lifecycle: models.LifecycleActive})
	n.newSession()
	return n
}

func (n *tenant) store(row any) {
	n.w.t.Helper()
	if err := n.w.db.WriteAcross(n.w.t.Context(), func(tx *gorm.DB) error { return tx.Create(row).Error }); err != nil {
		n.w.t.Fatal(err)
	}
}

// newSession makes the tenant work in another session, with another turn.
func (n *tenant) newSession() {
	n.w.t.Helper()
	n.session, n.turn = models.NewID[models.SessionEntity](), models.NewID[models.TurnEntity]()
	message := models.NewID[models.MessageEntity]()
	err := n.w.committer.Submit(n.w.t.Context(), command{commit.Needs{Org: n.by.OrgID, Session: n.session, Create: true, Bytes: 100}, func(tx *commit.Tx) error {
		tx.CreateSession(models.Session{
			OrgID: n.by.OrgID, ID: n.session, HarnessID: n.harness, Tags: []string{}, CreatedByKind: models.ActorUser, CreatedAt: tx.Now, Status: models.SessionStarted,
		})
		tx.Emit(nil, events.SessionStarted{HarnessID: n.harness})
		seq := tx.Emit(&n.turn, events.SessionStarted{HarnessID: n.harness})
		tx.AddMessage(models.Message{ID: message, TurnID: n.turn, Role: models.MessageUser, Content: []models.Part{}, Sequence: seq, CreatedAt: tx.Now})
		if tx.AddTurn(models.Turn{ID: n.turn, InputMessageID: message}) {
			tx.ClaimTurn(models.NewID[models.RunnerEntity]())
		}
		return nil
	}})
	if err != nil {
		n.w.t.Fatal(err)
	}
}

// policy makes one by which core may pay example.com up to 10 usd, 25 in a turn and 100 in a day.
func (n *tenant) policy(change func(*payments.NewPolicy)) *models.PaymentPolicy {
	n.w.t.Helper()
	in := payments.NewPolicy{
		Name: "p", Capabilities: []string{"core"}, Hosts: []string{"example.com"}, URL: n.w.rail.url, Secret: secret,
		MaxRequest: 10 * one, MaxTurn: 25 * one, MaxDay: 100 * one,
	}
	if change != nil {
		change(&in)
	}
	row, err := n.w.Create(n.w.t.Context(), n.by, in)
	if err != nil {
		n.w.t.Fatal(err)
	}
	return row
}

func (n *tenant) budget(limit models.Amount, change func(*models.Budget)) models.Budget {
	n.w.t.Helper()
	subject := models.SubjectID(n.by.OrgID)
	b := models.Budget{
		OrgID: n.by.OrgID, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: &subject, Currency: "usd", LimitAmount: limit,
		CreatedAt: clock.Millis(n.w.clock), PeriodStartedAt: clock.Millis(n.w.clock), UpdatedAt: 1,
	}
	if change != nil {
		change(&b)
	}
	n.store(&b)
	return b
}

// order asks for an amount under a key.
func (n *tenant) order(key string, amount models.Amount) tools.PaymentOrder {
	return tools.PaymentOrder{
		PaymentRequest: tools.PaymentRequest{Host: "example.com", Amount: amount, Purpose: "a test", Step: "s"},
		OrgID:          n.by.OrgID, SessionID: n.session, TurnID: n.turn, Epoch: 1, CapabilityID: "core", ToolID: "core.tool",
		IdempotencyKey: n.session.String() + ":" + key + ":s",
	}
}

func (n *tenant) pay(key string, amount models.Amount) (tools.PaymentReceipt, error) {
	return n.w.Pay(n.w.t.Context(), n.order(key, amount))
}

// paid pays and expects that it works.
func (n *tenant) paid(key string, amount models.Amount) tools.PaymentReceipt {
	n.w.t.Helper()
	r, err := n.pay(key, amount)
	if err != nil {
		n.w.t.Fatalf("%s: %v", key, err)
	}
	return r
}

// refused expects a refusal with a code.
func refused(t *testing.T, what string, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*tools.PaymentError](err); !ok || e.Code != code || strings.TrimSpace(e.Message) == "" {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func rows[T any](n *tenant) (list []T) {
	n.w.t.Helper()
	order := "id"
	if _, ok := any(list).([]models.PaymentDay); ok {
		order = "day"
	}
	if err := store.Of(n.w.db.ReadAcross(n.w.t.Context()), n.by.OrgID).Order(order).Find(&list).Error; err != nil {
		n.w.t.Fatal(err)
	}
	return list
}

// sound checks that budgets, days, journal and ledger agree with the payments, and returns these.
func (n *tenant) sound() []models.Payment {
	n.w.t.Helper()
	list := rows[models.Payment](n)
	type dayOf struct {
		policy models.PaymentPolicyID
		day    int64
	}
	type periodOf struct {
		budget  models.BudgetID
		started models.Millis
	}
	held, days, facts := map[periodOf]models.Amount{}, map[dayOf]models.Amount{}, map[models.JournalID]models.Amount{}
	for _, p := range list {
		k := dayOf{p.PolicyID, p.Day}
		switch p.Status {
		case models.PaymentPaid:
			days[k] += *p.Paid
			facts[models.JournalID(p.ID)] = *p.Paid
		case models.PaymentPending:
			var lines []models.Held
			if err := json.Unmarshal(p.Lines, &lines); err != nil {
				n.w.t.Error(err)
			}
			for _, h := range lines {
				held[periodOf{h.Budget, h.Period}] += h.Amount
			}
			days[k] += p.Amount
		case models.PaymentAsked:
			days[k] += p.Amount
		case models.PaymentRefused:
		}
	}
	for _, d := range rows[models.PaymentDay](n) {
		if k := (dayOf{d.PolicyID, d.Day}); days[k] != d.Amount {
			n.w.t.Errorf("a day has %d, want %d", d.Amount, days[k])
		}
	}
	for _, j := range rows[models.JournalEntry](n) {
		if j.Kind != models.JournalPayment || facts[j.ID] != models.Amount(j.Usage.CostNanos) {
			n.w.t.Errorf("the journal has %+v, want %v", j, facts)
		}
		delete(facts, j.ID)
	}
	if len(facts) > 0 {
		n.w.t.Errorf("the journal has nothing of %v", facts)
	}
	spent := map[periodOf]models.Amount{}
	for _, l := range rows[models.LedgerEntry](n) {
		spent[periodOf{l.BudgetID, l.PeriodStartedAt}] += l.Amount
	}
	for _, b := range rows[models.Budget](n) {
		if k := (periodOf{b.ID, b.PeriodStartedAt}); b.Reserved != held[k] || b.Spent != spent[k] {
			n.w.t.Errorf("budget %s has spent %d and holds %d, want %d and %d", b.ID, b.Spent, b.Reserved, spent[k], held[k])
		}
	}
	return list
}

// rail is a payment service that keeps its promise: one payment per key.
type rail struct {
	url string

	mu   sync.Mutex
	paid map[string]string
	// requests counts those of each key, and last is the last one.
	requests map[string]int
	last     http.Header
	body     map[string]any
	secret   string
	// says answers instead; nil for paid.
	says func(key string, request int) (status int, body string, pays bool)
}

func newRail(t *testing.T) *rail {
	t.Helper()
	r := &rail{paid: map[string]string{}, requests: map[string]int{}, secret: secret}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/pay"
	return r
}

func (r *rail) answers(says func(key string, request int) (status int, body string, pays bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.says = says
}

// always answers in one way.
func always(status int, body string, pays bool) func(string, int) (int, string, bool) {
	return func(string, int) (int, string, bool) { return status, body, pays }
}

// count returns how many payments were made, and how many requests.
func (r *rail) count() (made, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.requests {
		requests += n
	}
	return len(r.paid), requests
}

// signed reports whether one of the signatures is that of the secret.
func signed(secret, header string, body []byte) bool {
	parts := strings.Split(header, ",")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.TrimPrefix(parts[0], "t=") + "." + string(body)))
	for _, p := range parts[1:] {
		if p == "v1="+hex.EncodeToString(mac.Sum(nil)) {
			return true
		}
	}
	return false
}

func (r *rail) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	key := req.Header.Get("Idempotency-Key")
	r.requests[key]++
	r.last, r.body = req.Header.Clone(), map[string]any{}
	_ = json.Unmarshal(body, &r.body)
	if !signed(r.secret, req.Header.Get("Ostler-Signature"), body) {
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	status, text, pays := http.StatusOK, "", true
	if r.says != nil {
		status, text, pays = r.says(key, r.requests[key])
	}
	if pays && r.paid[key] == "" {
		r.paid[key] = "ref-" + key
	}
	if text == "" {
		text = `{"status":"paid","reference":"` + r.paid[key] + `"}`
	}
	if status == http.StatusTemporaryRedirect {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// dying is a committer of a process that dies at its n-th command: before it is committed, or just after.
type dying struct {
	*commit.Committer

	mu    sync.Mutex
	n     int
	after bool
}

var errDied = errors.New("the process has died")

func (d *dying) Submit(ctx context.Context, c commit.Command) error {
	d.mu.Lock()
	d.n--
	now := d.n == 0
	d.mu.Unlock()
	if now && !d.after {
		return errDied
	}
	if err := d.Committer.Submit(ctx, c); err != nil || !now {
		return err
	}
	return errDied
}
