package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/auth/oidc"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

// The roles of a process.
const (
	roleAll    = "all"
	roleAPI    = "api"
	roleRunner = "runner"
)

// minMetricsToken is how long the token for the metrics must be, so that nobody guesses it.
const minMetricsToken = 16

// config is the environment, read and checked.
type config struct {
	addr, publicURL            string
	dataDir                    string
	rowSecurity                bool
	databaseURL, ownerURL      string
	directURL                  string
	sqliteSynchronous          string
	natsURL                    string
	trustedProxies             []netip.Prefix
	metricsToken               string
	masterKey, previousKey     []byte
	jwtSecret                  []byte
	smtpURL, smtpFrom          string
	adminEmail, adminPassword  string
	oidc                       oidc.Config // without what the configuration doesn't say
	role                       string
	runnerSlots                int
	limits                     limits.Values
	strangers                  int
	orgCreators                string
	personOrgs, descendants    int
	auditRetention             time.Duration
	budgetCheck                time.Duration // 0 for never
	waitMailAfter              time.Duration // 0 for never
	lease, heartbeat, shutdown time.Duration
	logLevel                   slog.Level
	production                 bool
	trustedOnly                bool
	egressLoopback             bool
	egressAllow                []netip.Prefix
	egressRules                egress.Rules
	// providers has the keys and addresses of model providers that organizations without a key of their own use.
	providers map[models.ProviderKind]llm.Endpoint
}

// setting is one variable of the environment.
type setting struct {
	name, fallback, about string
	secret                bool
	set                   func(c *config, value string) error
}

// settings are all variables, in the order in which `config` prints them. docs/configuration.md is made from the same list.
func settings() []setting {
	list := generalSettings()
	// Beside the other ways to sign in.
	at := 1 + slices.IndexFunc(list, func(s setting) bool { return s.name == "OSTLER_ADMIN_PASSWORD" })
	return slices.Insert(list, at, openIDSettings()...)
}

func generalSettings() []setting {
	return []setting{
		{"OSTLER_ADDR", "127.0.0.1:8080", "Where to listen.", false, func(c *config, v string) error {
			_, port, err := net.SplitHostPort(v)
			if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 {
				return errors.New("want host:port, e.g. 127.0.0.1:8080")
			}
			c.addr = v
			return nil
		}},
		{"OSTLER_PUBLIC_URL", "", "The address that browsers use, the same on all nodes: it is in every token. Default: http:// and OSTLER_ADDR.", false, func(c *config, v string) error {
			u, err := url.Parse(v)
			v = strings.TrimSuffix(v, "/")
			if v != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || v != u.Scheme+"://"+u.Host) {
				return errors.New("want a URL like https://ostler.example.com, with nothing after the host")
			}
			c.publicURL = v
			return nil
		}},
		{"OSTLER_TRUSTED_PROXIES", "", "Proxies whose X-Forwarded-For and X-Request-Id are trusted: addresses or networks (10.0.0.0/8), separated by commas. Default: none.", false, list(func(c *config) *[]netip.Prefix { return &c.trustedProxies }, network)},
		{"OSTLER_METRICS_TOKEN", "", "A bearer token for /metrics, of at least 16 characters. Default: /metrics answers platform operators only, and any request from this machine while OSTLER_PUBLIC_URL names it.", true, metricsToken},
		{"OSTLER_DATA_DIR", "./data", "Where SQLite's file and the generated master key live.", false, text(func(c *config) *string { return &c.dataDir })},
		{"OSTLER_DATABASE_URL", "", "sqlite:/path/to/file or postgres://…. Default: SQLite in the data directory.", true, text(func(c *config) *string { return &c.databaseURL })},
		{"OSTLER_DATABASE_OWNER_URL", "", "PostgreSQL as the role that may change the schema. Default: OSTLER_DATABASE_URL.", true, text(func(c *config) *string { return &c.ownerURL })},
		{"OSTLER_DATABASE_DIRECT_URL", "", "PostgreSQL without a pooler in between, for the locks by which processes detect that another has died. Default: OSTLER_DATABASE_URL.", true, text(func(c *config) *string { return &c.directURL })},
		{"OSTLER_ROW_SECURITY", "on", "on or off: whether PostgreSQL also isolates organizations, by row-level security, besides the server itself. The owner must be allowed to create roles, unless the roles ostler_app and ostler_engine exist.", false, choice(func(c *config) *bool { return &c.rowSecurity }, "on", "on", "off")},
		{"OSTLER_SQLITE_SYNCHRONOUS", "FULL", "FULL: what was committed survives a power failure. NORMAL: the last commits before one may be lost.", false, oneOf(func(c *config) *string { return &c.sqliteSynchronous }, "FULL", "NORMAL")},
		{"OSTLER_NATS_URL", "", "nats://…: the bus between several processes. Default: none, one process alone.", true, text(func(c *config) *string { return &c.natsURL })},
		{"OSTLER_MASTER_KEY", "", "32 bytes in base64, the same on all nodes. Default with SQLite: generated into the data directory.", true, key(func(c *config) *[]byte { return &c.masterKey })},
		{"OSTLER_MASTER_KEY_PREVIOUS", "", "The previous master key, while secrets are sealed with the new one.", true, key(func(c *config) *[]byte { return &c.previousKey })},
		{"OSTLER_JWT_SECRET", "", "A secret of at least 32 characters, the same on all nodes, that signs access tokens with HS256. Default: keys in the database, which are rotated and published.", true, func(c *config, v string) error {
			if v != "" && len(v) < auth.MinTokenSecret {
				return fmt.Errorf("want at least %d characters, e.g. of `openssl rand -base64 32`", auth.MinTokenSecret)
			}
			if v != "" {
				c.jwtSecret = []byte(v)
			}
			return nil
		}},
		{"OSTLER_SMTP_URL", "", "The mail server: smtp://user:password@host:port, or smtps://. Default: no mail is sent, and links are written to the log.", true, checked(func(c *config) *string { return &c.smtpURL }, mail.CheckURL)},
		{"OSTLER_SMTP_FROM", "", "The sender's address of mail. Default: ostler at the host of OSTLER_PUBLIC_URL.", false, checked(func(c *config) *string { return &c.smtpFrom }, mail.CheckAddress)},
		{"OSTLER_WAIT_MAIL_AFTER", "5m", "After how long people get mail about approvals, questions and paused sessions that wait for them, at least 1m; 0 is never. Needs OSTLER_SMTP_URL.", false, waitMailAfter},
		{"OSTLER_ADMIN_EMAIL", "admin@localhost", "The first owner, made when there is no user.", false, text(func(c *config) *string { return &c.adminEmail })},
		{"OSTLER_ADMIN_PASSWORD", "", "The first owner's password. Default: a random one, printed once.", true, text(func(c *config) *string { return &c.adminPassword })},
		{"OSTLER_ROLE", roleAll, "all, api (serves requests only) or runner (runs turns only).", false, oneOf(func(c *config) *string { return &c.role }, roleAll, roleAPI, roleRunner)},
		{"OSTLER_RUNNER_SLOTS", "256", "How many turns this process runs at once.", false, number(func(c *config) *int { return &c.runnerSlots }, 1, 10_000)},
		{"OSTLER_STRANGER_REQUESTS", "600", "How many operations per minute one address (with IPv6, one /64) may send to each node without being signed in, sign-ins included; 0 is unlimited. Behind a proxy that OSTLER_TRUSTED_PROXIES doesn't name, all share one address.", false, number(func(c *config) *int { return &c.strangers }, 0, limits.Most)},
		{"OSTLER_ORG_CREATION", string(orgs.CreatedByOwners), "Who may create organizations: nobody, operators, owners (operators and owners of an organization), members (everybody but viewers) or everybody.", false, oneOf(
			func(c *config) *string { return &c.orgCreators },
			string(orgs.CreatedByNobody), string(orgs.CreatedByOperators), string(orgs.CreatedByOwners), string(orgs.CreatedByMembers), string(orgs.CreatedByEverybody))},
		{"OSTLER_PERSON_ORGS", "10", "How many organizations one person may create; 0 is unlimited. Operators have no limit.", false, number(func(c *config) *int { return &c.personOrgs }, 0, limits.Most)},
		{"OSTLER_ORG_DESCENDANTS", "50", "How many organizations may come from one: those that its people create, and the people of those again; 0 is unlimited. Operators have no limit, and what they create comes from none.", false, number(func(c *config) *int { return &c.descendants }, 0, limits.Most)},
		orgLimit("OSTLER_ORG_ACTIVE_TURNS", "0", "How many turns of one organization run at once, in all processes; 0 is unlimited.", func(v *limits.Values) *int { return &v.ActiveTurns }),
		orgLimit("OSTLER_ORG_QUEUED_TURNS", "100000", "How many turns of one organization may wait to begin; 0 is unlimited.", func(v *limits.Values) *int { return &v.QueuedTurns }),
		orgLimit("OSTLER_ORG_SESSIONS", "1000000", "How many sessions one organization may have; 0 is unlimited.", func(v *limits.Values) *int { return &v.Sessions }),
		orgLimit("OSTLER_ORG_AGENTS", "2000", "How many agents one organization may have; 0 is unlimited.", func(v *limits.Values) *int { return &v.Agents }),
		orgLimit("OSTLER_ORG_API_KEYS", "500", "How many API keys that are not revoked one organization may have; 0 is unlimited.", func(v *limits.Values) *int { return &v.APIKeys }),
		orgLimit("OSTLER_ORG_PENDING_INVITATIONS", "500", "How many invitations of one organization may be pending; 0 is unlimited.", func(v *limits.Values) *int { return &v.PendingInvitations }),
		orgLimit("OSTLER_ORG_REQUESTS_PER_MINUTE", "120000", "How many requests per minute one organization may make, to all processes together; 0 is unlimited.", func(v *limits.Values) *int { return &v.RequestsPerMinute }),
		orgLimit("OSTLER_ORG_TOOL_CALLS", "1000", "How many calls per minute one organization may make to tools that reach outside the server, in all processes; 0 is unlimited.", func(v *limits.Values) *int { return &v.ToolCallsPerMinute }),
		orgLimit("OSTLER_ORG_SUBSCRIPTIONS", "20000", "How many subscriptions of one organization may be open, in all processes; 0 is unlimited.", func(v *limits.Values) *int { return &v.Subscriptions }),
		orgLimit("OSTLER_ORG_SOCKETS", "20000", "How many WebSockets of one organization may be open, in all processes; 0 is unlimited.", func(v *limits.Values) *int { return &v.Sockets }),
		{"OSTLER_ORG_STORAGE_BYTES", "0", "How many bytes of files and images one organization may store, each content counted once; 0 is unlimited.", false, number(func(c *config) *int { return &c.limits.StorageBytes }, 0, limits.MostBytes)},
		{"OSTLER_LEASE", "6s", "How long a runner may miss its heartbeat before others take over its turns.", false, duration(func(c *config) *time.Duration { return &c.lease })},
		{"OSTLER_HEARTBEAT", "2s", "How often a runner sends its heartbeat; at most a third of the lease.", false, duration(func(c *config) *time.Duration { return &c.heartbeat })},
		{"OSTLER_SHUTDOWN_GRACE", "20s", "How long steps may go on after SIGTERM.", false, duration(func(c *config) *time.Duration { return &c.shutdown })},
		{"OSTLER_AUDIT_RETENTION_DAYS", "0", "How many days audit entries are kept, in all organizations; 0 is forever.", false, func(c *config, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > 36_500 {
				return errors.New("want a number from 0 to 36500")
			}
			c.auditRetention = time.Duration(n) * 24 * time.Hour
			return nil
		}},
		{"OSTLER_BUDGET_CHECK_INTERVAL", "1h", "How often a process that runs turns compares changed budgets with their ledgers; 0 is never.", false, durationOrOff(func(c *config) *time.Duration { return &c.budgetCheck })},
		{"OSTLER_LOG_LEVEL", "info", "debug, info, warn or error.", false, func(c *config, v string) error {
			if err := c.logLevel.UnmarshalText([]byte(v)); err != nil {
				return errors.New("want debug, info, warn or error")
			}
			return nil
		}},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "", "Where OpenTelemetry traces are sent, e.g. http://collector:4318; the other standard variables apply too. Default: no traces.", false, collector},
		{"ANTHROPIC_API_KEY", "", "Anthropic's API key, for providers without a key and an address of their own. The first organization, those that operators create, and those that an operator allows may use it. Default: none.", true, providerKey(models.ProviderAnthropic)},
		{"ANTHROPIC_BASE_URL", "", "Anthropic's base URL, for providers without an address of their own. Default: the public API.", false, providerURL(models.ProviderAnthropic)},
		{"OPENAI_API_KEY", "", "The same for OpenAI: the API key.", true, providerKey(models.ProviderOpenAI)},
		{"OPENAI_BASE_URL", "", "The same for OpenAI: the base URL.", false, providerURL(models.ProviderOpenAI)},
		{"GEMINI_API_KEY", "", "The same for Gemini: the API key.", true, providerKey(models.ProviderGemini)},
		{"GEMINI_BASE_URL", "", "The same for Gemini: the base URL.", false, providerURL(models.ProviderGemini)},
		{"OSTLER_ENV", "development", "development (introspection for signed-in users, suggestions in errors) or production.", false, choice(func(c *config) *bool { return &c.production }, "production", "development", "production")},
		{"OSTLER_TRUSTED_DOCUMENTS", "off", "off or cookies: whether requests with sign-in cookies may run only the dashboard's documents. Tokens and API keys may run any.", false, choice(func(c *config) *bool { return &c.trustedOnly }, "cookies", "off", "cookies")},
		{"OSTLER_EGRESS_ALLOW", "", "Private addresses or networks (10.0.0.0/8), separated by commas, that requests for organizations may reach, by http too: where your own model servers are. Default: none.", false, list(func(c *config) *[]netip.Prefix { return &c.egressAllow }, network)},
		{"OSTLER_EGRESS_ONLY", "", "The only destinations that requests for organizations may reach, separated by commas: hosts (api.example.com), all hosts below one (*.example.com) or URL prefixes (https://example.com/v1). Default: any.", false, list(func(c *config) *[]egress.Pattern { return &c.egressRules.Allowed }, egress.ParsePattern)},
		{"OSTLER_EGRESS_BLOCK", "", "Destinations that requests for organizations may not reach, in the same form. They win over allowed ones. Default: none.", false, list(func(c *config) *[]egress.Pattern { return &c.egressRules.Blocked }, egress.ParsePattern)},
		{"OSTLER_EGRESS_ALLOW_LOOPBACK", "false", "true lets requests for organizations reach this machine. For development and tests only.", false, choice(func(c *config) *bool { return &c.egressLoopback }, "true", "true", "false")},
	}
}

// orgLimit is what organizations may have that have no limit of their own.
func orgLimit(name, fallback, about string, field func(v *limits.Values) *int) setting {
	return setting{name, fallback, about, false, number(func(c *config) *int { return field(&c.limits) }, 0, limits.Most)}
}

// endpoint changes what the environment says of a kind of provider.
func (c *config) endpoint(kind models.ProviderKind, change func(at *llm.Endpoint)) {
	if c.providers == nil {
		c.providers = map[models.ProviderKind]llm.Endpoint{}
	}
	at := c.providers[kind]
	change(&at)
	c.providers[kind] = at
}

// readConfig reads the environment. All that is wrong is said at once.
func readConfig(getenv func(string) string) (config, error) {
	var c config
	var wrong []string
	for _, s := range settings() {
		v := getenv(s.name)
		if v == "" {
			v = s.fallback
		}
		if err := s.set(&c, v); err != nil {
			shown := strconv.Quote(v)
			if s.secret {
				shown = "the value"
			}
			wrong = append(wrong, fmt.Sprintf("%s: %s is not valid: %v", s.name, shown, err))
		}
	}
	if c.publicURL == "" {
		c.publicURL = "http://" + browsable(c.addr)
	}
	if u, err := url.Parse(c.publicURL); err == nil && c.smtpFrom == "" {
		if c.smtpFrom = "ostler@" + u.Hostname(); mail.CheckAddress(c.smtpFrom) != nil {
			c.smtpFrom = "ostler@localhost"
		}
	}
	if c.databaseURL == "" || c.databaseURL == "sqlite:" {
		c.databaseURL = "sqlite:" + filepath.Join(c.dataDir, "ostler.db")
	}
	if c.directURL == "" {
		c.directURL = c.databaseURL
	}
	wrong = append(wrong, c.unsafe()...)
	wrong = append(wrong, c.openIDWrong()...)
	if len(wrong) > 0 {
		return c, errors.New("the configuration is invalid:\n  " + strings.Join(wrong, "\n  "))
	}
	return c, nil
}

// browsable returns the address at which a browser on this machine finds a server that listens at addr.
func browsable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

// unsafe names combinations in which turns could be lost or done twice, or tenants reach what they must not.
func (c *config) unsafe() []string {
	var wrong []string
	switch {
	case strings.HasPrefix(c.databaseURL, "sqlite:"):
		if c.role != roleAll && c.role != "" {
			wrong = append(wrong, fmt.Sprintf("OSTLER_ROLE: %q needs PostgreSQL: a SQLite file belongs to one process, so the role must be all", c.role))
		}
	case strings.HasPrefix(c.databaseURL, "postgres://"), strings.HasPrefix(c.databaseURL, "postgresql://"):
		if c.masterKey == nil {
			wrong = append(wrong, "OSTLER_MASTER_KEY: PostgreSQL needs one that all nodes share; create it once with `openssl rand -base64 32` and keep it safe")
		}
	default:
		wrong = append(wrong, "OSTLER_DATABASE_URL: want sqlite:/path/to/file or postgres://…")
	}
	if c.role != roleAll && c.role != "" && c.natsURL == "" {
		wrong = append(wrong, fmt.Sprintf("OSTLER_NATS_URL: role %q needs a bus to the other processes", c.role))
	}
	if c.heartbeat > 0 && c.lease < 3*c.heartbeat {
		wrong = append(wrong, fmt.Sprintf("OSTLER_LEASE: %s is too short for a heartbeat every %s: want at least three times that times that", c.lease, c.heartbeat))
	}
	if c.production && c.egressLoopback {
		wrong = append(wrong, "OSTLER_EGRESS_ALLOW_LOOPBACK: not allowed in production: anyone who may add a provider could reach every service on this machine; list your model servers in OSTLER_EGRESS_ALLOW instead")
	}
	return wrong
}

// printConfig shows every setting with its value; secrets are only said to be set.
func printConfig(out io.Writer, getenv func(string) string) {
	for _, s := range settings() {
		v, from := getenv(s.name), ""
		if v == "" {
			v, from = s.fallback, "  (default)"
		}
		if s.secret && v != "" {
			v = "(set)"
		}
		_, _ = fmt.Fprintf(out, "%s=%s%s\n    %s\n", s.name, v, from, s.about)
	}
}
