package e2e

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/store/storetest"
)

const (
	ownerEmail    = "owner@example.com"
	ownerPassword = "correct horse battery staple"
)

// place is what survives a process: its database, its data directory and its master key.
type place struct {
	kind string
	env  map[string]string
}

// eachDatabase runs a test on a fresh place of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newPlace(t, "sqlite"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newPlace(t, "postgres"))
	})
}

// eachDatabaseInTurn is eachDatabase for tests with something to set up for both.
func eachDatabaseInTurn(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) { test(t, newPlace(t, kind)) })
	}
}

func newPlace(t *testing.T, kind string) *place {
	t.Helper()
	p := &place{kind: kind, env: map[string]string{
		"OSTLER_DATA_DIR":       t.TempDir(),
		"OSTLER_ADMIN_EMAIL":    ownerEmail,
		"OSTLER_ADMIN_PASSWORD": ownerPassword,
		"OSTLER_MASTER_KEY":     newKey(t),
	}}
	if kind == "postgres" {
		p.env["OSTLER_DATABASE_URL"] = storetest.PostgresURL(t)
	}
	return p
}

func newKey(t *testing.T) string {
	t.Helper()
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(key)
}

// with returns a copy of the place's environment with changes; an empty value removes a variable.
func (p *place) with(changes map[string]string) map[string]string {
	env := maps.Clone(p.env)
	for k, v := range changes {
		env[k] = v
		if v == "" {
			delete(env, k)
		}
	}
	return env
}

// freeAddr returns a loopback address that nothing listens on. It keeps clear of the range that outgoing connections take
// their ports from, so that a process can be started again at the same address.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(12_000))
		if err != nil {
			t.Fatal(err)
		}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+n.Int64()))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	t.Fatal("no free port was found")
	return ""
}

// process is one running program.
type process struct {
	addr string
	url  string
	cmd  *exec.Cmd
	out  *lines
	done chan struct{}
}

// launch starts the program without waiting for anything.
func launch(t *testing.T, env map[string]string, args ...string) *process {
	t.Helper()
	if env["OSTLER_ADDR"] == "" {
		env = maps.Clone(env)
		env["OSTLER_ADDR"] = freeAddr(t)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	// Tests ask for more at once than one address of strangers may, unless they say otherwise.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "OSTLER_STRANGER_REQUESTS=0"}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, k+"="+env[k])
	}
	cmd.SysProcAttr = dieWithParent()
	p := &process{addr: env["OSTLER_ADDR"], url: "http://" + env["OSTLER_ADDR"], cmd: cmd, out: newLines(), done: make(chan struct{})}
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the program: %v", err)
	}
	var reader sync.WaitGroup
	reader.Go(func() { p.out.read(read) })
	go func() {
		_ = cmd.Wait() // its exit code is looked at where it matters
		_ = write.Close()
		reader.Wait()
		p.out.end()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of process %d at %s, without what is only informative:\n%s", cmd.Process.Pid, p.addr, p.out.notable())
		}
	})
	return p
}

// start starts a server and waits until it is ready.
func start(t *testing.T, env map[string]string, args ...string) *process {
	t.Helper()
	p := launch(t, env, args...)
	p.waitLine(t, func(line string) bool { return strings.HasPrefix(line, "ready ") })
	return p
}

// again starts a server at the address of one that has ended.
func (p *process) again(t *testing.T, env map[string]string) *process {
	t.Helper()
	<-p.done
	env = maps.Clone(env)
	env["OSTLER_ADDR"] = p.addr
	return start(t, env)
}

// waitLine waits for a line of output.
func (p *process) waitLine(t *testing.T, want func(string) bool) string {
	t.Helper()
	line, err := p.out.wait(want)
	if err != nil {
		t.Fatalf("process %d at %s: %v\n%s", p.cmd.Process.Pid, p.addr, err, p.out)
	}
	return line
}

// kill ends it as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-p.done
}

// terminate asks it to end.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("send SIGTERM: %v", err)
	}
}

// exit waits for its end and returns its code.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("process %d did not end\n%s", p.cmd.Process.Pid, p.out)
	}
	return p.cmd.ProcessState.ExitCode()
}

// refused starts the program and expects it to end with an error.
func refused(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	p := launch(t, env, args...)
	if code := p.exit(t); code != 1 {
		t.Errorf("the program ended with code %d, want 1\n%s", code, p.out)
	}
	return p.out.String()
}

// lines are what a process has printed.
type lines struct {
	mu    sync.Mutex
	all   []string
	ended bool
	more  chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

func (l *lines) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		l.mu.Lock()
		l.all = append(l.all, s.Text())
		l.changed()
		l.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, r)
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed()
}

func (l *lines) changed() {
	close(l.more)
	l.more = make(chan struct{})
}

func (l *lines) wait(want func(string) bool) (string, error) {
	deadline := time.After(patience)
	seen := 0
	for {
		l.mu.Lock()
		for ; seen < len(l.all); seen++ {
			if want(l.all[seen]) {
				defer l.mu.Unlock()
				return l.all[seen], nil
			}
		}
		ended, more := l.ended, l.more
		l.mu.Unlock()
		if ended {
			return "", errors.New("it ended before the line came")
		}
		select {
		case <-more:
		case <-deadline:
			return "", errors.New("the line did not come")
		}
	}
}

// notable returns the lines that no request and no socket leaves behind by itself.
func (l *lines) notable() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept []string
	for _, line := range l.all {
		if !strings.Contains(line, "level=INFO") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}
