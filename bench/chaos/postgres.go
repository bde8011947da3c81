package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL server: one that others run, or one of this program's own.
type server struct {
	admin *url.URL // a superuser, at the maintenance database

	bin, dir string // of an own server
	run      *syscall.Credential
	process  *exec.Cmd
	done     chan struct{}
}

func foreignServer(admin string) (*server, error) {
	if admin == "" {
		return nil, errors.New("OSTLER_TEST_POSTGRES_URL is not set: run this with scripts/with-postgres")
	}
	u, err := url.Parse(admin)
	if err != nil {
		return nil, err
	}
	return &server{admin: u}, nil
}

// newServer makes a server and starts it. What it gives must be removed even with an error, unless it is nil.
func newServer(ctx context.Context) (*server, error) {
	s := &server{}
	var err error
	if s.bin, err = postgresBin(); err != nil {
		return nil, err
	}
	// The caller's directories may be closed to the server's user; this one is open to all, and on a disk.
	if s.dir, err = os.MkdirTemp("/var/tmp", "ostler-chaos-postgres-"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.run, err = unprivileged(); err != nil {
			return s, err
		}
		if err := os.Chown(s.dir, int(s.run.Uid), int(s.run.Gid)); err != nil {
			return s, err
		}
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return s, err
	}
	host, port, _ := strings.Cut(addr, ":")
	s.admin = &url.URL{Scheme: "postgres", User: url.User("postgres"), Host: addr, Path: "/postgres", RawQuery: "sslmode=disable"}
	initdb := s.command("initdb", "-D", s.data(), "-U", "postgres", "--encoding=UTF8", "--locale=C", "--auth=trust")
	if out, err := initdb.CombinedOutput(); err != nil {
		return s, fmt.Errorf("make a database cluster: %w\n%s", err, out)
	}
	conf, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return s, err
	}
	_, err = fmt.Fprintf(conf, "listen_addresses = '%s'\nport = %s\nunix_socket_directories = ''\nmax_connections = 100\nfsync = on\n", host, port)
	if err = errors.Join(err, conf.Close()); err != nil {
		return s, err
	}
	return s, s.start(ctx)
}

func (s *server) own() bool    { return s.dir != "" }
func (s *server) data() string { return filepath.Join(s.dir, "data") }

// command prepares a program of PostgreSQL, as the server's user.
func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...) //nolint:noctx // it is ended by stop
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	// A postmaster that is killed leaves its children to notice by themselves; SIGQUIT lets it end them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT, Credential: s.run}
	return cmd
}

// start starts the server and waits until it answers.
func (s *server) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.process, s.done = s.command("postgres", "-D", s.data()), make(chan struct{})
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(done)
	}(s.process, s.done)
	for until := time.Now().Add(patience); ; wait(ctx, 5*time.Millisecond) {
		conn, err := pgx.Connect(ctx, s.admin.String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			return fmt.Errorf("PostgreSQL ended: %w", err)
		default:
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// stop ends the server at once, as a crash does: it recovers at the next start.
func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGQUIT) // it may have ended
	<-s.done
	s.process = nil
}

// remove ends an own server and removes its files.
func (s *server) remove() error {
	if !s.own() {
		return nil
	}
	s.stop()
	return os.RemoveAll(s.dir)
}

// database returns the URL of a database of the server.
func (s *server) database(name string) string {
	u := *s.admin
	u.Path = "/" + name
	return u.String()
}

func (s *server) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// postgresBin finds PostgreSQL's programs where scripts/ensure does.
func postgresBin() (string, error) {
	var dirs []string
	if program, err := exec.LookPath("postgres"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			dirs = append(dirs, filepath.Dir(program))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin"} {
		found, _ := filepath.Glob(pattern)
		slices.Sort(found)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no PostgreSQL server was found: run scripts/ensure postgres")
}

// unprivileged finds a user for the server.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}
