// Package oidctest is a small OpenID Connect issuer for tests, which can be told to lie.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID and ClientSecret are those of the one client that the issuer knows.
const (
	ClientID     = "ostler"
	ClientSecret = "the secret of the client"
)

// Person is who is at the browser.
type Person struct {
	Subject, Email, Name string
	// Unverified is true when the issuer has not checked the e-mail.
	Unverified bool
}

// Lies are what the issuer does wrong. The zero value is honest.
type Lies struct {
	// Claims changes what the ID token says.
	Claims func(claims map[string]any)
	// Token makes the ID token from its claims instead of signing them.
	Token func(claims map[string]any) string
	// Discovery changes the issuer's description.
	Discovery func(says map[string]any)
	// Fails returns the status to answer a path with; 0 for the ordinary answer.
	Fails func(path string) int
	// Huge are paths that answer with more than anybody wants.
	Huge map[string]bool
	// Hang are paths that answer only when the client has hung up.
	Hang map[string]bool
	// Refuse is the error to send browsers back with.
	Refuse string
	// UserInfo is what the issuer tells of a person besides the ID token; nil for nothing.
	UserInfo map[string]any
}

type granted struct {
	person                        Person
	nonce, challenge, redirectURI string
}

// Issuer is a running issuer.
type Issuer struct {
	// URL is its address and its name.
	URL string
	// Public makes it know the client without a secret.
	Public bool
	// Now is the time by which its tokens are valid; the machine's when nil.
	Now func() time.Time

	server *httptest.Server
	mu     sync.Mutex
	person Person
	lies   Lies
	key    jose.JSONWebKey
	codes  map[string]granted
	asked  map[string]int
}

// Start starts an issuer, which ends with the test.
func Start(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{codes: map[string]granted{}, asked: map[string]int{}}
	i.RotateKey(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", i.userInfo)
	mux.HandleFunc("GET /keys", i.keys)
	i.server = httptest.NewServer(i.lying(mux))
	t.Cleanup(i.server.Close)
	i.URL = i.server.URL
	return i
}

// Stop makes it unreachable.
func (i *Issuer) Stop() { i.server.Close() }

// SignIn sets who is at the browser from now on.
func (i *Issuer) SignIn(p Person) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.person = p
}

// Lie sets what is wrong from now on.
func (i *Issuer) Lie(l Lies) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lies = l
}

// RotateKey replaces the key that tokens are signed with.
func (i *Issuer) RotateKey(t testing.TB) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: "ES256", Use: "sig"}
}

// Key returns the key that tokens are signed with.
func (i *Issuer) Key() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.key
}

// Asked returns how often a path was asked for.
func (i *Issuer) Asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

func (i *Issuer) lying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		lies := i.lies
		i.asked[r.URL.Path]++
		i.mu.Unlock()
		switch {
		case lies.Hang[r.URL.Path]:
			_ = r.ParseForm() // the server notices only then that the client is gone
			<-r.Context().Done()
		case lies.Huge[r.URL.Path]:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"issuer":"`))
			spaces := make([]byte, 64<<10)
			for range 64 {
				if _, err := w.Write(spaces); err != nil {
					return
				}
			}
		case lies.Fails != nil && lies.Fails(r.URL.Path) != 0:
			w.WriteHeader(lies.Fails(r.URL.Path))
			_, _ = w.Write([]byte("<b>the issuer's own words</b>"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	says := map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize?tenant=a", "token_endpoint": i.URL + "/token",
		"jwks_uri": i.URL + "/keys", "userinfo_endpoint": i.URL + "/userinfo",
		// That it offers what nobody may take up is a lie of its own.
		"id_token_signing_alg_values_supported":          []string{"none", "HS256", "ES256"},
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	}
	i.mu.Lock()
	change := i.lies.Discovery
	i.mu.Unlock()
	if change != nil {
		change(says)
	}
	writeJSON(w, http.StatusOK, says)
}

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" ||
		q.Get("state") == "" || q.Get("tenant") != "a" || q.Get("scope") == "" {
		http.Error(w, "the request is not complete: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {i.URL}}
	i.mu.Lock()
	if i.lies.Refuse != "" {
		back.Set("error", i.lies.Refuse)
		back.Set("error_description", "<b>the issuer's own words</b>")
	} else {
		code := rand.Text()
		i.codes[code] = granted{person: i.person, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), redirectURI: q.Get("redirect_uri")}
		back.Set("code", code)
	}
	i.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound) //nolint:gosec // G710: tests send themselves wherever they like
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	wanted := ClientSecret
	if i.Public {
		wanted = ""
	}
	if id != ClientID || secret != wanted {
		writeJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	code := r.FormValue("code")
	i.mu.Lock()
	g, ok := i.codes[code]
	delete(i.codes, code)
	lies := i.lies
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || g.redirectURI != r.FormValue("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "<b>the issuer's own words</b>"})
		return
	}
	now := time.Now()
	if i.Now != nil {
		now = i.Now()
	}
	says := map[string]any{
		"iss": i.URL, "sub": g.person.Subject, "aud": ClientID, "nonce": g.nonce, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"email": g.person.Email, "email_verified": !g.person.Unverified, "name": g.person.Name,
	}
	if g.person.Email == "" {
		delete(says, "email")
	}
	if lies.Claims != nil {
		lies.Claims(says)
	}
	sign := lies.Token
	if sign == nil {
		sign = i.sign
	}
	writeJSON(w, http.StatusOK, map[string]any{"access_token": "an access token", "token_type": "Bearer", "expires_in": 300, "id_token": sign(says)})
}

func (i *Issuer) sign(says map[string]any) string {
	return Sign(jose.ES256, i.Key(), says)
}

// Sign makes a token with any algorithm and any key.
func Sign(alg jose.SignatureAlgorithm, key any, says map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		panic(err)
	}
	payload, err := json.Marshal(says)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return text
}

func (i *Issuer) userInfo(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	says := maps.Clone(i.lies.UserInfo)
	if says == nil {
		says = map[string]any{"sub": i.person.Subject}
	}
	i.mu.Unlock()
	writeJSON(w, http.StatusOK, says)
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	key := i.Key()
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Visit is what a browser does at the issuer: it follows the address that it was sent to, and gives what it is sent back with.
func Visit(t testing.TB, address string) url.Values {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	back, err := resp.Location()
	if err != nil {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("the issuer sends nobody back: %s %s", resp.Status, body)
	}
	return back.Query()
}
