package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub resolves the few fields that the tests ask for. All others panic, which the server must survive.
type stub struct {
	generated.ResolverRoot
	// viewer, signIn and events stand in for the resolvers of the same name.
	viewer func(ctx context.Context) (*model.Viewer, error)
	signIn func(ctx context.Context) (*model.AuthPayload, error)
	node   func(id string) model.Node
	agents func(first *int) *model.AgentConnection
	events func(ctx context.Context) (<-chan model.Event, error)
	// after is called with the argument of the same name of a subscription; it is optional.
	after func(position any)
}

type (
	stubQuery struct {
		generated.QueryResolver
		stub *stub
	}
	stubMutation struct {
		generated.MutationResolver
		stub *stub
	}
	stubSubscription struct{ stub *stub }
	stubOrg          struct {
		generated.OrgResolver
		stub *stub
	}
	stubViewer struct{ stub *stub }
)

func (s *stub) Query() generated.QueryResolver               { return stubQuery{stub: s} }
func (s *stub) Mutation() generated.MutationResolver         { return stubMutation{stub: s} }
func (s *stub) Subscription() generated.SubscriptionResolver { return stubSubscription{s} }
func (s *stub) Org() generated.OrgResolver                   { return stubOrg{stub: s} }
func (s *stub) Viewer() generated.ViewerResolver             { return stubViewer{s} }

func (stubQuery) ServerInfo(context.Context) (*model.ServerInfo, error) {
	return &model.ServerInfo{Name: "ostler", Version: "test", SignInMethods: []string{"password"}}, nil
}
func (q stubQuery) Viewer(ctx context.Context) (*model.Viewer, error) { return q.stub.viewer(ctx) }
func (q stubQuery) Node(_ context.Context, id string) (model.Node, error) {
	return q.stub.node(id), nil
}
func (q stubQuery) Agents(_ context.Context, first *int, _, _ *string, _ *bool) (*model.AgentConnection, error) {
	return q.stub.agents(first), nil
}
func (m stubMutation) SignIn(ctx context.Context, _ model.SignInInput) (*model.AuthPayload, error) {
	return m.stub.signIn(ctx)
}
func (s stubSubscription) SessionEvents(ctx context.Context, _ string, after *int, _ []model.EventKind) (<-chan model.Event, error) {
	if s.stub.after != nil && after != nil {
		s.stub.after(*after)
	}
	return s.stub.events(ctx)
}
func (s stubSubscription) OrgEvents(ctx context.Context, after *string, _ []model.EventKind, _ *string) (<-chan model.Event, error) {
	if s.stub.after != nil && after != nil {
		s.stub.after(*after)
	}
	return s.stub.events(ctx)
}
func (stubOrg) DefaultHarness(context.Context, *model.Org) (*model.Harness, error) {
	return &model.Harness{ID: "harn_1"}, nil
}
func (stubOrg) DefaultModel(context.Context, *model.Org) (*model.Model, error) {
	return nil, errors.New("relation secret_table does not exist")
}
func (stubViewer) CanCreateOrg(context.Context, *model.Viewer) (bool, error) { return false, nil }
func (stubViewer) WaitMail(context.Context, *model.Viewer) (*bool, error)    { return new(false), nil }

func (stubViewer) Orgs(context.Context, *model.Viewer) ([]*model.Org, error) {
	return []*model.Org{{ID: "org_1"}}, nil
}

// people is an Authenticator whose tokens the test sets.
type people struct {
	mu     sync.Mutex
	tokens map[string]*auth.Principal
	broken error
	asked  chan string
}

func (p *people) Authenticate(_ context.Context, token string) (*auth.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked != nil {
		p.asked <- token
	}
	if p.broken != nil {
		return nil, p.broken
	}
	principal, ok := p.tokens[token]
	if !ok {
		return nil, auth.ErrUnauthenticated
	}
	return principal, nil
}

func (p *people) set(token string, principal *auth.Principal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if principal == nil {
		delete(p.tokens, token)
		return
	}
	p.tokens[token] = principal
}

func (p *people) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
}

// bench is a running server with what a test needs of it.
type bench struct {
	*testing.T
	server *Server
	url    string
	stub   *stub
	people *people
	clock  *clock.Manual
	log    *syncBuffer
	meter  *tally
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// owner may do everything in its organization.
func owner() *auth.Principal {
	return &auth.Principal{Role: models.RoleOwner, Permissions: auth.RolePermissions(models.RoleOwner, false),
		ExpiresAt: start.Add(15 * time.Minute), Transport: auth.TransportBody}
}

// setup starts a server. Its sockets are swept when the test says so.
func setup(t *testing.T, change ...func(*Config)) *bench {
	t.Helper()
	b := &bench{T: t, stub: &stub{}, clock: clock.NewManual(start), log: &syncBuffer{}, meter: &tally{}, people: &people{tokens: map[string]*auth.Principal{}}}
	b.people.set("good", owner())
	b.people.set("nothing", &auth.Principal{ExpiresAt: start.Add(time.Hour)})
	b.stub.viewer = func(context.Context) (*model.Viewer, error) {
		return &model.Viewer{Org: &model.Org{ID: "org_1", Name: "Default"}, User: &model.User{ID: "user_1"}, Permissions: []model.Permission{}}, nil
	}
	b.stub.signIn = func(ctx context.Context) (*model.AuthPayload, error) {
		auth.RequestFrom(ctx).SetCookies(auth.TokenCookies{Access: "a", AccessExpires: start.Add(time.Minute), Refresh: "r", RefreshExpires: start.Add(time.Hour)})
		return &model.AuthPayload{Tokens: &model.TokenPair{Org: &model.Org{ID: "org_1"}, User: &model.User{ID: "user_1"}}, UserErrors: []*model.UserError{}}, nil
	}
	b.stub.node = func(string) model.Node { return nil }
	b.stub.agents = func(*int) *model.AgentConnection { return &model.AgentConnection{PageInfo: &model.PageInfo{}} }

	cfg := Config{PublicURL: "http://ostler.test", Introspection: true, Suggestions: true}
	cfg.Sockets.SweepEvery = -1
	for _, f := range change {
		f(&cfg)
	}
	server, err := New(cfg, Dependencies{
		Logger:        slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Schema:        generated.NewExecutableSchema(generated.Config{Resolvers: b.stub}),
		Authenticator: b.people,
		Dashboard:     fstest.MapFS{"index.html": {Data: []byte("<!doctype html>dashboard")}},
		Metrics:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(figures)) }),
		Meter:         b.meter,
		Clock:         b.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.server = server
	listener := httptest.NewUnstartedServer(server.Handler())
	listener.Config.ConnContext, listener.Config.Protocols, listener.Config.HTTP2 = server.http.ConnContext, server.http.Protocols, server.http.HTTP2
	listener.Start()
	b.url = listener.URL
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		listener.Close()
	})
	return b
}

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   string
	// data and errors are those of a GraphQL answer. hasData tells null from absent.
	data    json.RawMessage
	hasData bool
	errors  []wireError
	cost    map[string]any
}

type wireError struct {
	Message    string         `json:"message"`
	Path       []any          `json:"path"`
	Extensions map[string]any `json:"extensions"`
}

func (a answer) code() string {
	if len(a.errors) == 0 {
		return ""
	}
	code, _ := a.errors[0].Extensions["code"].(string)
	return code
}

// with sets a header; "" removes it.
func with(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Set(name, value)
	}
}

var signedIn = with("Authorization", "Bearer good")

func (b *bench) do(method, path, body string, change ...func(*http.Request)) answer {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(content)}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		a.read(b, content)
	}
	return a
}

// read takes a GraphQL answer apart.
func (a *answer) read(b *bench, content []byte) {
	b.Helper()
	var wire map[string]json.RawMessage
	if err := json.Unmarshal(content, &wire); err != nil {
		b.Fatalf("%s: %v", content, err)
	}
	a.data, a.hasData = wire["data"]
	if e, ok := wire["errors"]; ok {
		if err := json.Unmarshal(e, &a.errors); err != nil {
			b.Fatal(err)
		}
	}
	if e, ok := wire["extensions"]; ok {
		var ext struct{ Cost map[string]any }
		if err := json.Unmarshal(e, &ext); err != nil {
			b.Fatal(err)
		}
		a.cost = ext.Cost
	}
}

// query posts a document.
func (b *bench) query(document string, variables map[string]any, change ...func(*http.Request)) answer {
	b.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		b.Fatal(err)
	}
	return b.do(http.MethodPost, "/graphql", string(body), change...)
}

func failWith(err error) func(context.Context) (*model.Viewer, error) {
	return func(context.Context) (*model.Viewer, error) { return nil, err }
}

var errSecret = errors.New("pq: password of secret_user")

var notFound = fault.New(fault.NotFound, "There is no such session.")
