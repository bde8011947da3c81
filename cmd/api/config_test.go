package main

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

var aKey = base64.StdEncoding.EncodeToString(make([]byte, 32))

// from reads variables from a list of NAME, value, NAME, value, ….
func from(pairs ...string) func(string) string {
	env := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return env[name] }
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := readConfig(from())
	if err != nil {
		t.Fatal(err)
	}
	if c.addr != "127.0.0.1:8080" || c.publicURL != "http://127.0.0.1:8080" || c.dataDir != "./data" || c.databaseURL != "sqlite:data/ostler.db" ||
		c.sqliteSynchronous != "FULL" || c.natsURL != "" || c.masterKey != nil || c.adminEmail != "admin@localhost" || c.adminPassword != "" ||
		c.role != roleAll || c.runnerSlots != 256 || c.lease != 6*time.Second || c.heartbeat != 2*time.Second || c.shutdown != 20*time.Second ||
		c.logLevel != slog.LevelInfo || c.production || c.trustedOnly {
		t.Errorf("got %+v", c)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  []string
		want func(c config) bool
	}{
		"a public URL with a slash":   {[]string{"OSTLER_PUBLIC_URL", "https://ostler.example.com/"}, func(c config) bool { return c.publicURL == "https://ostler.example.com" }},
		"listening everywhere":        {[]string{"OSTLER_ADDR", "0.0.0.0:9000"}, func(c config) bool { return c.addr == "0.0.0.0:9000" && c.publicURL == "http://localhost:9000" }},
		"listening everywhere, short": {[]string{"OSTLER_ADDR", ":9000"}, func(c config) bool { return c.publicURL == "http://localhost:9000" }},
		"listening everywhere, IPv6":  {[]string{"OSTLER_ADDR", "[::]:9000"}, func(c config) bool { return c.publicURL == "http://localhost:9000" }},
		"listening on IPv6":           {[]string{"OSTLER_ADDR", "[::1]:9000"}, func(c config) bool { return c.publicURL == "http://[::1]:9000" }},
		"audit entries for a year":    {[]string{"OSTLER_AUDIT_RETENTION_DAYS", "365"}, func(c config) bool { return c.auditRetention == 365*24*time.Hour }},
		"audit entries forever":       {nil, func(c config) bool { return c.auditRetention == 0 }},
		"SQLite in the data directory": {[]string{"OSTLER_DATABASE_URL", "sqlite:", "OSTLER_DATA_DIR", "/var/lib/ostler"}, func(c config) bool {
			return c.databaseURL == "sqlite:/var/lib/ostler/ostler.db"
		}},
		"SQLite elsewhere": {[]string{"OSTLER_DATABASE_URL", "sqlite:/tmp/x.db"}, func(c config) bool { return c.databaseURL == "sqlite:/tmp/x.db" }},
		"PostgreSQL":       {[]string{"OSTLER_DATABASE_URL", "postgresql://h/d", "OSTLER_MASTER_KEY", aKey}, func(c config) bool { return len(c.masterKey) == 32 }},
		"a runner": {[]string{"OSTLER_DATABASE_URL", "postgres://h/d", "OSTLER_MASTER_KEY", aKey, "OSTLER_NATS_URL", "nats://n", "OSTLER_ROLE", "runner", "OSTLER_RUNNER_SLOTS", "10000"}, func(c config) bool {
			return c.role == roleRunner && c.natsURL == "nats://n" && c.runnerSlots == 10_000
		}},
		"three heartbeats":    {[]string{"OSTLER_LEASE", "900ms", "OSTLER_HEARTBEAT", "300ms"}, func(c config) bool { return c.lease == 900*time.Millisecond }},
		"a key without its =": {[]string{"OSTLER_MASTER_KEY", strings.TrimRight(aKey, "=")}, func(c config) bool { return len(c.masterKey) == 32 }},
		"proxies": {[]string{"OSTLER_TRUSTED_PROXIES", "10.0.0.0/8, 192.168.1.7,::ffff:1.2.3.4,fd00::/8"}, func(c config) bool {
			return fmt.Sprint(c.trustedProxies) == "[10.0.0.0/8 192.168.1.7/32 1.2.3.4/32 fd00::/8]"
		}},
		"model servers": {[]string{"OSTLER_EGRESS_ALLOW", "10.1.0.0/16,127.0.0.1", "OSTLER_ENV", "production"}, func(c config) bool {
			return fmt.Sprint(c.egressAllow) == "[10.1.0.0/16 127.0.0.1/32]" && !c.egressLoopback
		}},
		"strangers": {nil, func(c config) bool { return c.strangers == 600 }},
		"rules of egress": {[]string{"OSTLER_EGRESS_ONLY", "*.example.com,api.example.org", "OSTLER_EGRESS_BLOCK", "https://a.example.com/admin"}, func(c config) bool {
			return len(c.egressRules.Allowed) == 2 && len(c.egressRules.Blocked) == 1
		}},
		"loopback": {[]string{"OSTLER_EGRESS_ALLOW_LOOPBACK", "true"}, func(c config) bool { return c.egressLoopback }},
		"providers": {[]string{"ANTHROPIC_API_KEY", "sk-a", "OPENAI_BASE_URL", "https://gateway.example.com/v1/", "OPENAI_API_KEY", "sk-o"}, func(c config) bool {
			return c.providers[models.ProviderAnthropic] == llm.Endpoint{APIKey: "sk-a"} && c.providers[models.ProviderGemini] == llm.Endpoint{} &&
				c.providers[models.ProviderOpenAI] == llm.Endpoint{BaseURL: "https://gateway.example.com/v1", APIKey: "sk-o"}
		}},
		"mail": {[]string{"OSTLER_SMTP_URL", "smtps://u:p@mail.example.com", "OSTLER_PUBLIC_URL", "https://ostler.example.com:8443"}, func(c config) bool {
			return c.smtpURL == "smtps://u:p@mail.example.com" && c.smtpFrom == "ostler@ostler.example.com"
		}},
		"mail, on IPv6":       {[]string{"OSTLER_ADDR", "[::1]:9000"}, func(c config) bool { return c.smtpFrom == "ostler@localhost" }},
		"a secret for tokens": {[]string{"OSTLER_JWT_SECRET", strings.Repeat("s", 32)}, func(c config) bool { return len(c.jwtSecret) == 32 }},
		"an issuer": {[]string{"OSTLER_OIDC_ISSUER", "https://login.example.com/a/", "OSTLER_OIDC_CLIENT_ID", "o", "OSTLER_OIDC_DOMAINS", "Example.com,b.org"}, func(c config) bool {
			return c.oidc.Issuer == "https://login.example.com/a/" && fmt.Sprint(c.oidc.Domains, c.oidc.Scopes) == "[example.com b.org] [openid email profile]"
		}},
		"trusted documents":    {[]string{"OSTLER_TRUSTED_DOCUMENTS", "cookies"}, func(c config) bool { return c.trustedOnly }},
		"debugging production": {[]string{"OSTLER_LOG_LEVEL", "debug", "OSTLER_ENV", "production"}, func(c config) bool { return c.logLevel == slog.LevelDebug && c.production }},
	} {
		if c, err := readConfig(from(test.env...)); err != nil || !test.want(c) {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  []string
		want string
	}{
		"an address without a port":    {[]string{"OSTLER_ADDR", "localhost"}, `OSTLER_ADDR: "localhost" is not valid`},
		"port 0":                       {[]string{"OSTLER_ADDR", "127.0.0.1:0"}, "OSTLER_ADDR"},
		"a port that is a name":        {[]string{"OSTLER_ADDR", "127.0.0.1:http"}, "OSTLER_ADDR"},
		"a public URL with a path":     {[]string{"OSTLER_PUBLIC_URL", "https://example.com/ostler"}, "nothing after the host"},
		"a public URL with a query":    {[]string{"OSTLER_PUBLIC_URL", "https://example.com?x"}, "OSTLER_PUBLIC_URL"},
		"a public URL with a user":     {[]string{"OSTLER_PUBLIC_URL", "https://user@example.com"}, "OSTLER_PUBLIC_URL"},
		"another scheme":               {[]string{"OSTLER_PUBLIC_URL", "ftp://example.com"}, "OSTLER_PUBLIC_URL"},
		"another database":             {[]string{"OSTLER_DATABASE_URL", "mysql://h/d"}, "OSTLER_DATABASE_URL: want sqlite:"},
		"PostgreSQL without a key":     {[]string{"OSTLER_DATABASE_URL", "postgres://h/d"}, "openssl rand -base64 32"},
		"a short key":                  {[]string{"OSTLER_MASTER_KEY", "c2hvcnQ="}, "OSTLER_MASTER_KEY: the value is not valid"},
		"a key that is no base64":      {[]string{"OSTLER_MASTER_KEY_PREVIOUS", "%%%"}, "OSTLER_MASTER_KEY_PREVIOUS"},
		"no synchronous":               {[]string{"OSTLER_SQLITE_SYNCHRONOUS", "OFF"}, "want one of FULL, NORMAL"},
		"an unknown role":              {[]string{"OSTLER_ROLE", "worker"}, "want one of all, api, runner"},
		"SQLite with role api":         {[]string{"OSTLER_ROLE", "api", "OSTLER_NATS_URL", "nats://n"}, "needs PostgreSQL"},
		"a role without a bus":         {[]string{"OSTLER_ROLE", "api", "OSTLER_DATABASE_URL", "postgres://h/d", "OSTLER_MASTER_KEY", aKey}, "OSTLER_NATS_URL"},
		"no slots":                     {[]string{"OSTLER_RUNNER_SLOTS", "0"}, "from 1 to 10000"},
		"too many slots":               {[]string{"OSTLER_RUNNER_SLOTS", "10001"}, "from 1 to 10000"},
		"slots in words":               {[]string{"OSTLER_RUNNER_SLOTS", "many"}, "from 1 to 10000"},
		"a duration without a unit":    {[]string{"OSTLER_LEASE", "6"}, "want a duration"},
		"a negative duration":          {[]string{"OSTLER_SHUTDOWN_GRACE", "-1s"}, "want a duration"},
		"no time at all":               {[]string{"OSTLER_HEARTBEAT", "0s"}, "want a duration"},
		"a lease of two heartbeats":    {[]string{"OSTLER_LEASE", "4s"}, "OSTLER_LEASE: 4s is too short for a heartbeat every 2s"},
		"a proxy by name":              {[]string{"OSTLER_TRUSTED_PROXIES", "proxy"}, "want addresses or networks"},
		"a network that is an address": {[]string{"OSTLER_TRUSTED_PROXIES", "10.0.0.1/8"}, "want addresses or networks"},
		"a key with a line break":      {[]string{"GEMINI_API_KEY", "hunter2\n"}, "GEMINI_API_KEY: the value is not valid: want a key without"},
		"a provider without a host":    {[]string{"OPENAI_BASE_URL", "api.openai.com"}, "OPENAI_BASE_URL"},
		"a provider with a query":      {[]string{"OPENAI_BASE_URL", "https://api.openai.com?key=1"}, "without user, query"},
		"an unknown level":             {[]string{"OSTLER_LOG_LEVEL", "loud"}, "debug, info, warn or error"},
		"trust in everybody":           {[]string{"OSTLER_TRUSTED_DOCUMENTS", "on"}, "OSTLER_TRUSTED_DOCUMENTS: \"on\" is not valid: want off or cookies"},
		"an unknown environment":       {[]string{"OSTLER_ENV", "staging"}, "development or production"},
		"loopback in production":       {[]string{"OSTLER_ENV", "production", "OSTLER_EGRESS_ALLOW_LOOPBACK", "true"}, "OSTLER_EGRESS_ALLOW_LOOPBACK: not allowed in production"},
		"an issuer over http":          {[]string{"OSTLER_OIDC_ISSUER", "http://login.example.com", "OSTLER_OIDC_CLIENT_ID", "o"}, "OSTLER_OIDC_ISSUER: \"http://login.example.com\" is not valid: want https"},
		"an issuer without a client":   {[]string{"OSTLER_OIDC_ISSUER", "https://login.example.com"}, "OSTLER_OIDC_CLIENT_ID: OSTLER_OIDC_ISSUER needs it"},
		"a client without an issuer":   {[]string{"OSTLER_OIDC_CLIENT_ID", "o"}, "OSTLER_OIDC_ISSUER"},
		"domains without an issuer":    {[]string{"OSTLER_OIDC_DOMAINS", "example.com"}, "OSTLER_OIDC_ISSUER"},
		"domains that are none":        {[]string{"OSTLER_OIDC_DOMAINS", "@example.com"}, "OSTLER_OIDC_DOMAINS"},
		"scopes without openid":        {[]string{"OSTLER_OIDC_SCOPES", "email"}, "OSTLER_OIDC_SCOPES"},
		"an issuer of many words":      {[]string{"OSTLER_OIDC_NAME", strings.Repeat("x", 41)}, "OSTLER_OIDC_NAME"},
		"loopback, maybe":              {[]string{"OSTLER_EGRESS_ALLOW_LOOPBACK", "1"}, "want true or false"},
		"a host that is none":          {[]string{"OSTLER_EGRESS_ONLY", "api.example.com, a b"}, "OSTLER_EGRESS_ONLY: \"api.example.com, a b\" is not valid: \"a b\" has no valid host"},
		"a block that is none":         {[]string{"OSTLER_EGRESS_BLOCK", "ftp://example.com"}, "OSTLER_EGRESS_BLOCK"},
		"a model server by name":       {[]string{"OSTLER_EGRESS_ALLOW", "ollama"}, "want addresses or networks"},
		"two things at the same time":  {[]string{"OSTLER_ENV", "staging", "OSTLER_ROLE", "x"}, "OSTLER_ROLE: \"x\" is not valid: want one of all, api, runner\n  OSTLER_ENV"},
	} {
		if _, err := readConfig(from(test.env...)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want something with %q", name, err, test.want)
		}
	}
}

// TestSecretsAreNotSaid sets every secret to a wrong value, and looks for it in what is said about it.
func TestSecretsAreNotSaid(t *testing.T) {
	t.Parallel()
	for _, s := range settings() {
		if !s.secret {
			continue
		}
		_, err := readConfig(from(s.name, "hunter2"))
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error about %s holds its value: %v", s.name, err)
		}
		var out strings.Builder
		printConfig(&out, from(s.name, "hunter2"))
		if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), s.name+"=(set)\n") {
			t.Errorf("the value of %s is printed:\n%s", s.name, out.String())
		}
	}
}

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printConfig(&out, from("OSTLER_ADDR", "127.0.0.1:9000"))
	for _, want := range []string{"OSTLER_ADDR=127.0.0.1:9000\n", "OSTLER_LEASE=6s  (default)\n", "OSTLER_MASTER_KEY=  (default)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	for _, s := range settings() {
		if !strings.Contains("\n"+out.String(), "\n"+s.name+"=") {
			t.Errorf("%s was not printed", s.name)
		}
	}
}

// secretNames are what a name of a secret looks like; OSTLER_NATS_URL, OSTLER_SMTP_URL and the database's may hold passwords.
var secretNames = regexp.MustCompile(`KEY|PASSWORD|SECRET|TOKEN|DATABASE.*URL|NATS_URL|SMTP_URL`)

func TestSecretsAreMarked(t *testing.T) {
	t.Parallel()
	for _, s := range settings() {
		if (secretNames.MatchString(s.name) && !strings.HasPrefix(s.name, "OSTLER_ORG_")) != s.secret { // those are numbers
			t.Errorf("%s is marked as a secret: %v", s.name, s.secret)
		}
	}
}

// TestDocumentation compares docs/configuration.md with the settings: the same variables, in the same order, with the same
// defaults and the same explanation.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range settings() {
		fallback := "–"
		if s.fallback != "" {
			fallback = "`" + s.fallback + "`"
		}
		want = append(want, "| `"+s.name+"` | "+fallback+" | "+s.about+" |")
	}
	table := strings.Join(want, "\n")
	if !strings.Contains(string(b), table) {
		t.Errorf("docs/configuration.md must hold this table:\n| variable | default | |\n| --- | --- | --- |\n%s", table)
	}
	for _, name := range regexp.MustCompile(`OSTLER_[A-Z_]+`).FindAllString(string(b), -1) {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/configuration.md speaks of %s, which the program doesn't read", name)
		}
	}
}

// TestLimitsDocumentation compares the defaults that docs/limits.md names with the settings, and the limits of its table with all that there are.
func TestLimitsDocumentation(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{}
	for _, s := range settings() {
		defaults[s.name] = s.fallback
	}
	named := 0
	for _, m := range regexp.MustCompile("`(OSTLER_[A-Z_]+)`(?: \\||:) (any number|[\\d ]+)").FindAllStringSubmatch(string(b), -1) {
		named++
		got := strings.ReplaceAll(strings.Replace(m[2], "any number", "0", 1), " ", "")
		if want, ok := defaults[m[1]]; !ok || got != want {
			t.Errorf("docs/limits.md says that the default of %s is %s; it is %q", m[1], m[2], want)
		}
	}
	var rows, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(b), -1) {
		rows = append(rows, m[1])
	}
	for _, n := range limits.Names() {
		want = append(want, n.Name)
	}
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) || named < len(rows) {
		t.Errorf("docs/limits.md has the limits\n%q, with %d defaults, want\n%q", rows, named, want)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"server"}, {"serve", "--port=1"}, {"serve", "--role=api", "more"}, {"migrate", "now"}, {"version", "please"}, {"rotate-keys", "now"}} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), "usage: ostler") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
