package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
	"github.com/ostler-dev/ostler/internal/mail/mailtest"
)

// exchange is a request's body and what was answered.
type exchange struct{ asked, answered string }

// planting is a run in which all that is secret is a text that can be found again.
type planting struct {
	*testing.T
	p *process

	mu        sync.Mutex
	exchanges []exchange
	// secrets are those that were planted, and those that the server has given out; shown tells in the answer to which field.
	secrets, shown map[string]string
	// addresses are keys in addresses, which are stored as they are and shown with the address.
	addresses map[string]string
}

// RoundTrip keeps what is asked and answered.
func (r *planting) RoundTrip(req *http.Request) (*http.Response, error) {
	var asked []byte
	if req.Body != nil {
		asked, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(asked))
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	var header strings.Builder
	_ = res.Header.Write(&header)
	r.mu.Lock()
	r.exchanges = append(r.exchanges, exchange{req.URL.String() + "\n" + string(asked), header.String() + string(body)})
	r.mu.Unlock()
	return res, err
}

func (r *planting) as(token string) *client {
	c := newClient(r.p.url)
	c.HTTP.Transport, c.Token = r, token
	return c
}

// plant makes a secret.
func (r *planting) plant(name string) string {
	r.secrets[name] = "planted-" + strings.ReplaceAll(strings.ToLower(name), " ", "-") + "-0123456789-abcdefghij"
	return r.secrets[name]
}

// given notes a secret that the server made, and which field may show it.
func (r *planting) given(name, value, field string) string {
	r.Helper()
	if len(value) < 12 {
		r.Fatalf("%s is %q", name, value)
	}
	r.secrets[name], r.shown[name] = value, field
	return value
}

// signIn signs in and notes the tokens.
func (r *planting) signIn(name, email, password string) (*client, tokens) {
	r.Helper()
	got := must(r.as("").SignIn(r.Context(), email, password))(r.T)
	r.given(name+"'s access token", got.AccessToken, "signIn")
	r.given(name+"'s refresh token", got.RefreshToken, "signIn")
	return r.as(got.AccessToken), got
}

const openText = "a text that anybody of the organization may read"

// TestPlantedSecrets does everything that takes or gives a secret, and things that go wrong on the way, with the log at its most talkative.
// Then it looks for the secrets in all that is stored, logged, answered, streamed, measured and traced.
func TestPlantedSecrets(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		fake, smtp := newFakeProvider(t), mailtest.Start(t, mailtest.Config{})
		issuer := oidctest.Start(t)
		traces, collector := newCollector(t)
		r := &planting{T: t, shown: map[string]string{}, addresses: map[string]string{}, secrets: map[string]string{
			"the key of the provider": providerKey, "OSTLER_OIDC_CLIENT_SECRET": oidctest.ClientSecret,
		}}
		master, err := base64.StdEncoding.DecodeString(place.env["OSTLER_MASTER_KEY"])
		if err != nil {
			t.Fatal(err)
		}
		r.secrets["the master key"], r.secrets["the master key in base64"] = string(master), place.env["OSTLER_MASTER_KEY"]
		env := place.with(map[string]string{
			"OSTLER_LOG_LEVEL": "debug", "OSTLER_EGRESS_ALLOW_LOOPBACK": "true",
			"OSTLER_ADMIN_PASSWORD": r.plant("the owner"), "OSTLER_JWT_SECRET": r.plant("JWT"),
			"OSTLER_SMTP_URL":   "smtp://mailer:" + r.plant("SMTP") + "@" + smtp.Addr,
			"ANTHROPIC_API_KEY": r.plant("Anthropic of the environment"), "ANTHROPIC_BASE_URL": fake.URL,
			"OPENAI_API_KEY": r.plant("OpenAI of the environment"), "OPENAI_BASE_URL": fake.URL + "/v1",
			"GEMINI_API_KEY": r.plant("Gemini of the environment"), "GEMINI_BASE_URL": fake.URL,
			"OSTLER_METRICS_TOKEN": r.plant("OSTLER_METRICS_TOKEN"),
			// The collector's own key is not among our settings, and is a secret all the same.
			"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + r.plant("collector"), "OTEL_BSP_SCHEDULE_DELAY": "50",
		})
		maps.Copy(env, issuerOf(issuer.URL))
		env["OSTLER_MASTER_KEY_PREVIOUS"] = newKey(t)
		r.secrets["the previous master key"] = env["OSTLER_MASTER_KEY_PREVIOUS"]
		if place.kind == "postgres" {
			for _, name := range []string{"OSTLER_DATABASE_URL", "OSTLER_DATABASE_OWNER_URL", "OSTLER_DATABASE_DIRECT_URL"} {
				u, err := url.Parse(place.env["OSTLER_DATABASE_URL"])
				if err != nil {
					t.Fatal(err)
				}
				password, asked := u.User.Password()
				if !asked { // a server that trusts everybody takes any
					password = r.plant(name)
				}
				u.User, r.secrets[name] = url.UserPassword(u.User.Username(), password), password
				env[name] = u.String()
			}
			env["OSTLER_NATS_URL"] = newBusWith(t, "mailman", r.plant("OSTLER_NATS_URL")).url()
		}
		r.p = start(t, env)
		owner, streams := r.people(smtp)
		r.byIssuer(owner, issuer)
		streams += r.work(owner, fake)
		streams += r.outside(owner)
		r.wrong(owner)
		measured := r.measured()
		logged := r.p.out.String()
		stored := place.stored(t) // beside the server, with what has not been moved out of the WAL
		r.p.terminate(t)
		r.p.exit(t)
		stored += place.stored(t)
		logged += r.p.out.String() + done(t, env, "config")
		r.look(place.kind, map[string]string{
			theDatabase: stored, "the log": logged, "streams": streams, "the metrics": measured, "the traces": traces.String(),
		})
	})
}

const theDatabase = "the database"

// look looks for the secrets everywhere.
func (r *planting) look(kind string, places map[string]string) {
	for where, text := range map[string]string{
		theDatabase: openText, "the log": "level=DEBUG", "streams": openText, "the metrics": "ostler_build_info", "the traces": "model call",
	} {
		if !strings.Contains(places[where], text) {
			r.Errorf("what is taken for %s has no %q", where, text)
		}
	}
	sizes := ""
	for where, text := range places {
		secrets := maps.Clone(r.secrets)
		if where != theDatabase {
			maps.Copy(secrets, r.addresses)
		} else if len(search(text, r.addresses)) < len(r.addresses) {
			r.Error("the addresses are not found where they must be: either they are not stored, or the search is broken")
		}
		for _, found := range search(text, secrets) {
			r.Errorf("%s: it holds %s", where, found)
		}
		sizes += fmt.Sprintf(" %d bytes of %s,", len(text), where)
	}
	answers := 0
	for _, e := range r.exchanges {
		secrets := maps.Clone(r.secrets)
		maps.Copy(secrets, r.addresses)
		for name, field := range r.shown {
			if strings.Contains(e.asked, field) {
				delete(secrets, name)
			}
		}
		for _, found := range search(e.answered, secrets) {
			r.Errorf("an answer holds %s: %.200s\n%.600s", found, e.asked, e.answered)
		}
		answers++
	}
	r.Logf("S7 on %s: looked for %d secrets, each in %d forms, in%s and %d answers", kind, len(r.secrets)+len(r.addresses), len(forms("x")), sizes, answers)
	if len(r.secrets) < 60 || answers < 60 {
		r.Errorf("%d secrets and %d answers: the run missed most of what there is", len(r.secrets), answers)
	}
}

// stored returns all that is stored: every column of every table, and for SQLite the bytes of its files.
func (p *place) stored(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	read := p.reader(t)
	for table, columns := range read.tables(t) {
		for _, row := range read.query(t, "SELECT "+strings.Join(quote(columns), ", ")+` FROM "`+table+`"`) {
			for _, v := range row {
				if b, ok := v.([]byte); ok {
					all.Write(b)
				} else {
					_, _ = fmt.Fprint(&all, v)
				}
				all.WriteByte('\n')
			}
		}
	}
	if p.kind == "sqlite" {
		files, err := filepath.Glob(filepath.Join(p.env["OSTLER_DATA_DIR"], "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("the files are %v: %v", files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	return all.String()
}

var mailed = regexp.MustCompile(`token=([A-Za-z0-9_-]+)`)

// people does what people do with passwords and links.
func (r *planting) people(smtp *mailtest.Server) (owner *client, streams string) {
	r.Helper()
	_, in := r.signIn("the owner", ownerEmail, r.secrets["the owner"])
	var fresh struct{ RefreshTokens struct{ Tokens tokens } }
	r.as("").do(r.T, `mutation($t: String!) { refreshTokens(refreshToken: $t) { tokens { accessToken refreshToken } userErrors { code } } }`,
		map[string]any{"t": in.RefreshToken}, &fresh)
	owner = r.as(r.given("the second access token", fresh.RefreshTokens.Tokens.AccessToken, "refreshTokens"))
	r.given("the second refresh token", fresh.RefreshTokens.Tokens.RefreshToken, "refreshTokens")

	var invited struct{ InviteMember struct{ Token string } }
	owner.do(r.T, `mutation { inviteMember(input: {email: "member@example.com", role: MEMBER}) { token userErrors { code message } } }`, nil, &invited)
	token := r.given("an invitation", invited.InviteMember.Token, "inviteMember")
	var joined joining
	r.as("").do(r.T, acceptInvitation, map[string]any{"input": map[string]any{"token": token, "name": "Member", "password": r.plant("member")}}, &joined)
	member := r.as(r.given("the member's access token", joined.AcceptInvitation.Tokens.AccessToken, "acceptInvitation"))
	r.given("the member's refresh token", joined.AcceptInvitation.Tokens.RefreshToken, "acceptInvitation")
	member.do(r.T, `mutation($c: String!, $n: String!) { changePassword(current: $c, new: $n) { ok userErrors { code message } } }`,
		map[string]any{"c": r.secrets["member"], "n": r.plant("member changed")}, nil)
	r.as("").do(r.T, request, map[string]any{"e": "member@example.com"}, nil)
	link := mailed.FindStringSubmatch(smtp.Next(r.T).Text)
	if link == nil {
		r.Fatal("the mail has no link")
	}
	r.as("").do(r.T, reset, map[string]any{"t": r.given("a link for a new password", link[1], "nothing"), "p": r.plant("member reset")}, nil)
	r.signIn("the member again", "member@example.com", r.secrets["member reset"])

	var key struct {
		CreateAPIKey struct{ Key string } `json:"createApiKey"`
	}
	owner.do(r.T, `mutation { createApiKey(input: {name: "CI", permissions: [ORG_READ]}) { key apiKey { id prefix } userErrors { code message } } }`, nil, &key)
	r.as(r.given("an API key", key.CreateAPIKey.Key, "createApiKey")).do(r.T, `{ org { name } viewer { apiKey { id name prefix } } }`, nil, nil)
	var hook struct{ RotateHookSecret struct{ Secret string } }
	owner.do(r.T, `mutation { rotateHookSecret { secret userErrors { code message } } }`, nil, &hook)
	r.given("the secret of hooks", hook.RotateHookSecret.Secret, "rotateHookSecret")
	owner.do(r.T, `{ apiKeys { nodes { id name prefix } } invitations { nodes { id email } } signIns { id userAgent } auditEntries(first: 100) { nodes { action details targetId } } }`, nil, nil)
	return owner, ""
}
