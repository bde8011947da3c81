package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// says checks that an output holds every text.
func says(t *testing.T, output string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(output, text) {
			t.Errorf("the output does not say %q:\n%s", text, output)
		}
	}
}

// TestUnsafeCombinations starts the program in ways in which turns could be lost or run twice. It does not start.
func TestUnsafeCombinations(t *testing.T) {
	t.Parallel()
	sqlite := newPlace(t, "sqlite")
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"SQLite with role api":        {sqlite.env, []string{"serve", "--role=api"}, []string{"OSTLER_ROLE", "PostgreSQL", "OSTLER_NATS_URL"}},
		"SQLite with role runner":     {sqlite.with(map[string]string{"OSTLER_ROLE": "runner", "OSTLER_NATS_URL": "nats://127.0.0.1:1"}), nil, []string{"OSTLER_ROLE", "PostgreSQL"}},
		"PostgreSQL without a key":    {sqlite.with(map[string]string{"OSTLER_DATABASE_URL": "postgres://127.0.0.1:1/x", "OSTLER_MASTER_KEY": ""}), nil, []string{"OSTLER_MASTER_KEY", "openssl rand -base64 32"}},
		"a role without a bus":        {sqlite.with(map[string]string{"OSTLER_DATABASE_URL": "postgres://127.0.0.1:1/x", "OSTLER_ROLE": "runner"}), nil, []string{"OSTLER_NATS_URL", "runner"}},
		"another database":            {sqlite.with(map[string]string{"OSTLER_DATABASE_URL": "mysql://127.0.0.1:1/x"}), nil, []string{"OSTLER_DATABASE_URL", "postgres://"}},
		"a lease of two heartbeats":   {sqlite.with(map[string]string{"OSTLER_LEASE": "4s", "OSTLER_HEARTBEAT": "2s"}), nil, []string{"OSTLER_LEASE", "three"}},
		"an unknown command":          {sqlite.env, []string{"server"}, []string{"usage: ostler"}},
		"an unknown flag":             {sqlite.env, []string{"serve", "--port=1"}, []string{"usage: ostler"}},
		"an unknown role":             {sqlite.env, []string{"serve", "--role=worker"}, []string{"OSTLER_ROLE", "all, api, runner"}},
		"a database that isn't there": {sqlite.with(map[string]string{"OSTLER_DATABASE_URL": "postgres://127.0.0.1:1/x"}), nil, []string{"PostgreSQL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, refused(t, test.env, test.args...), test.want...)
		})
	}
	if files, err := os.ReadDir(sqlite.env["OSTLER_DATA_DIR"]); err != nil || len(files) > 0 {
		t.Errorf("a refused start left %v behind (%v)", files, err)
	}
}

// TestWithoutItsBus starts while the bus is down: the node works, and says that it is not ready for others to rely on.
func TestWithoutItsBus(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	p := start(t, newPlace(t, "postgres").with(map[string]string{"OSTLER_NATS_URL": "nats://" + addr}))
	probe := func(path string) (int, string) {
		res, err := newClient(p.url).HTTP.Get(p.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if status, body := probe("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "bus: not ready") {
		t.Errorf("/readyz without the bus: %d %s", status, body)
	}
	if status, _ := probe("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz without the bus: %d", status)
	}
	b := &bus{addr: netip.MustParseAddrPort(addr)}
	b.start(t)
	t.Cleanup(b.kill)
	eventually(t, "the node finds the bus", func() error {
		if status, body := probe("/readyz"); status != http.StatusOK {
			return errors.New(body)
		}
		return nil
	})
}

// TestAllThatIsWrong sets every variable that is checked to a bad value: one message tells all of it, and no secret.
func TestAllThatIsWrong(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"OSTLER_ADDR": "nowhere", "OSTLER_PUBLIC_URL": "ostler.example.com", "OSTLER_DATABASE_URL": "mysql://user:hunter2@host/db",
		"OSTLER_SQLITE_SYNCHRONOUS": "OFF", "OSTLER_MASTER_KEY": "hunter3", "OSTLER_MASTER_KEY_PREVIOUS": "hunter4",
		"OSTLER_ROLE": "worker", "OSTLER_RUNNER_SLOTS": "0", "OSTLER_LEASE": "6", "OSTLER_HEARTBEAT": "-1s", "OSTLER_SHUTDOWN_GRACE": "soon",
		"OSTLER_LOG_LEVEL": "loud", "OSTLER_ENV": "staging",
	}
	out := refused(t, bad)
	for name := range bad {
		says(t, out, name)
	}
	if strings.Contains(out, "hunter") {
		t.Errorf("the message holds a secret:\n%s", out)
	}
}

// TestSecondProcess starts a second process where only one may be.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		out := refused(t, place.env)
		if place.kind == "sqlite" {
			says(t, out, "in use by another process", "OSTLER_DATA_DIR")
		} else {
			says(t, out, "in use by another process", "OSTLER_NATS_URL")
			// One that has a bus is not alone with the first either.
			says(t, refused(t, place.with(map[string]string{"OSTLER_NATS_URL": newBus(t).url()})), "in use by another process", "OSTLER_NATS_URL")
		}
		signIn(t, p) // the first one has not noticed
		p.kill()
		signIn(t, start(t, place.env)) // and a dead one is in nobody's way
	})
}

// TestWrongMasterKey starts with another key than the one that the secrets in the database were sealed with.
func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		p.kill()
		other := newKey(t)
		says(t, refused(t, place.with(map[string]string{"OSTLER_MASTER_KEY": other})), "OSTLER_MASTER_KEY")

		// A rotation: the new key, and the old one as the previous one. Tokens stay good.
		rotated := place.with(map[string]string{"OSTLER_MASTER_KEY": other, "OSTLER_MASTER_KEY_PREVIOUS": place.env["OSTLER_MASTER_KEY"]})
		p = p.again(t, rotated)
		c.at(p).do(t, `{ viewer { user { email } } }`, nil, nil)
		signIn(t, p)
	})
}

// TestCommands runs the commands that are no servers.
func TestCommands(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		run := func(args ...string) (string, error) {
			cmd := exec.CommandContext(t.Context(), binary, args...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			for k, v := range place.env {
				cmd.Env = append(cmd.Env, k+"="+v)
			}
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		for range 2 { // a second run finds nothing to do
			if out, err := run("migrate"); err != nil {
				t.Errorf("migrate: %v\n%s", err, out)
			}
		}
		out, err := run("config")
		if err != nil {
			t.Errorf("config: %v\n%s", err, out)
		}
		says(t, out, "OSTLER_DATA_DIR="+place.env["OSTLER_DATA_DIR"], "OSTLER_MASTER_KEY=(set)", "OSTLER_RUNNER_SLOTS=256  (default)")
		for _, secret := range []string{ownerPassword, place.env["OSTLER_MASTER_KEY"], "postgres://"} {
			if strings.Contains(strings.ReplaceAll(out, "postgres://…", ""), secret) {
				t.Errorf("config prints the secret %q:\n%s", secret, out)
			}
		}
		if out, err := run("version"); err != nil || strings.TrimSpace(out) == "" {
			t.Errorf("version: %q, %v", out, err)
		}
		if out, err := run("help"); err != nil || !strings.Contains(out, "usage: ostler") {
			t.Errorf("help: %q, %v", out, err)
		}
	})
}

// TestGeneratedOwnerAndKey starts with nothing set at all, as a newcomer does.
func TestGeneratedOwnerAndKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"OSTLER_DATA_DIR": dir}
	p := start(t, env)
	line := p.waitLine(t, func(line string) bool { return strings.HasPrefix(line, "first start: ") })
	_, rest, _ := strings.Cut(line, "sign in as ")
	email, rest, _ := strings.Cut(rest, " with the password ")
	password, _, _ := strings.Cut(rest, " ")
	c := newClient(p.url)
	in := map[string]any{"input": map[string]any{"email": email, "password": password}}
	c.do(t, `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken } userErrors { code } } }`, in, nil)
	key, err := os.Stat(filepath.Join(dir, "master.key"))
	if err != nil || key.Mode().Perm() != 0o600 {
		t.Errorf("the master key's file: %v, %v", key, err)
	}
	p.kill()
	p = p.again(t, env)
	if strings.Contains(p.out.String(), "first start") {
		t.Error("the second start is a first start again")
	}
	c.do(t, `mutation($input: SignInInput!) { signIn(input: $input) { tokens { accessToken } userErrors { code } } }`, in, nil)
}

// TestNoSecretsAtRest looks for the plain text of secrets in everything that is stored and printed.
func TestNoSecretsAtRest(t *testing.T) {
	t.Parallel()
	const apiKey = "sk-plain-text-of-a-key"
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.with(map[string]string{"OSTLER_LOG_LEVEL": "debug"}))
		c := signIn(t, p)
		var made struct {
			CreateProvider struct{ Provider struct{ HasCredentials bool } }
		}
		c.do(t, `mutation($key: String!) { createProvider(input: {name: "Mine", kind: SIMULATED, apiKey: $key}) {
			provider { id hasCredentials } userErrors { code message } } }`, map[string]any{"key": apiKey}, &made)
		if !made.CreateProvider.Provider.HasCredentials {
			t.Error("the provider has no credentials")
		}
		session := c.session(t, c.agent(t, "echo", "sim-echo"))
		s := c.subscribe(t, session, 0)
		c.message(t, session, "a message that no log should hold")
		s.untilKind(t, "SESSION_IDLED", 1)
		p.terminate(t)
		p.exit(t)
		secrets := []string{apiKey, ownerPassword, c.Token}
		for _, secret := range append(secrets, "a message that no log should hold") {
			if strings.Contains(p.out.String(), secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
		stored, err := dump(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(stored, []byte("a message that no log should hold")) {
			t.Fatal("the dump is not one of the database")
		}
		for _, secret := range secrets {
			if bytes.Contains(stored, []byte(secret)) {
				t.Errorf("the database holds %q", secret)
			}
		}
	})
}

// dump returns everything that is stored, as bytes in no particular form.
func dump(ctx context.Context, place *place) ([]byte, error) {
	var all []byte
	if place.kind == "sqlite" {
		files, err := filepath.Glob(filepath.Join(place.env["OSTLER_DATA_DIR"], "*"))
		if err != nil || len(files) == 0 {
			return nil, errors.Join(err, errNotYet)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	}
	conn, err := pgx.Connect(ctx, place.env["OSTLER_DATABASE_URL"])
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace")
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		rows, err := conn.Query(ctx, "SELECT row_to_json(t)::text FROM "+pgx.Identifier{table}.Sanitize()+" t")
		if err != nil {
			return nil, err
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			all = append(all, text...)
		}
	}
	return all, nil
}
