package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	sqlite   = "sqlite"
	postgres = "postgres"

	// patience is how long anything may take before the run is given up, or says that something is stuck.
	patience = 60 * time.Second
)

// shape is what an arena is made of.
type shape struct {
	nodes int
	// linked puts a link between each node and PostgreSQL.
	linked bool
	// own starts a PostgreSQL server for the arena alone, which it may stop.
	own bool
	// env is what the nodes get beyond what they need.
	env []string
}

// arena is the product on one database: its nodes, what is between them, and those who use it and watch it.
type arena struct {
	*options
	kind   string
	dir    string
	server *server // PostgreSQL; nil with SQLite
	name   string  // of the database in PostgreSQL
	bus    *bus    // nil with SQLite
	nodes  []*node
	// db is for looking only.
	db *store.DB
	// effects is the file to which the tools of all nodes append.
	effects string
	people  *people
	journal *journal
	idle    vitals // the most that any node held before the load
	// ephemeral are the kinds of events that are live only.
	ephemeral map[string]bool

	diceMu sync.Mutex
	dice   *mathrand.Rand
}

// open makes an arena with all nodes ready.
func (o *options) open(ctx context.Context, kind string, s shape) (a *arena, err error) {
	a = &arena{options: o, kind: kind, journal: &journal{}, ephemeral: ephemeralKinds(), dice: mathrand.New(mathrand.NewPCG(o.seed, 0))}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.WithoutCancel(ctx)))
		}
	}()
	if a.dir, err = os.MkdirTemp(o.dir, "ostler-chaos-"); err != nil {
		return a, err
	}
	a.effects = filepath.Join(a.dir, "effects")
	database := ""
	if kind == postgres {
		if database, err = a.openPostgres(ctx, s); err != nil {
			return a, err
		}
	}
	if err = a.makeNodes(ctx, s, database); err != nil {
		return a, err
	}
	// The first one makes the schema and the owner.
	for _, n := range a.nodes {
		if err = a.startNode(ctx, n); err != nil {
			return a, err
		}
	}
	a.people, err = a.signUp(ctx)
	return a, err
}

func ephemeralKinds() map[string]bool {
	kinds := map[string]bool{}
	for _, row := range events.Table() {
		kinds[string(row.Kind())] = !row.Durable
	}
	return kinds
}

func (a *arena) openPostgres(ctx context.Context, s shape) (string, error) {
	var err error
	if s.own {
		a.server, err = newServer(ctx)
	} else {
		a.server, err = foreignServer(a.postgres)
	}
	if err != nil {
		return "", err
	}
	a.name = "chaos_" + filepath.Base(a.dir)[len("ostler-chaos-"):]
	if err := a.server.exec(ctx, `CREATE DATABASE `+pgx.Identifier{a.name}.Sanitize()); err != nil {
		return "", err
	}
	if a.bus, err = newBus(ctx); err != nil {
		return "", err
	}
	return a.server.database(a.name), nil
}

func (a *arena) makeNodes(ctx context.Context, s shape, database string) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	env := append([]string{
		"OSTLER_DATA_DIR=" + filepath.Join(a.dir, "data"),
		"OSTLER_MASTER_KEY=" + base64.StdEncoding.EncodeToString(key),
		"OSTLER_ADMIN_EMAIL=" + ownerEmail, "OSTLER_ADMIN_PASSWORD=" + ownerPassword,
		// Tokens name the server by its public address: all nodes have the same, as behind a load balancer.
		"OSTLER_PUBLIC_URL=http://ostler.test",
		"OSTLER_CHAOS_FILE=" + a.effects,
		"OSTLER_CHAOS_FAILPOINTS=" + a.failpoints,
	}, s.env...)
	if a.bus != nil {
		env = append(env, "OSTLER_NATS_URL="+a.bus.url())
	}
	var copyTo io.Writer
	if a.verbose {
		copyTo = a.tell
	}
	for i := range s.nodes {
		n := &node{name: fmt.Sprintf("node %d", i+1), output: newOutput(copyTo)}
		addr, err := freeAddr(ctx)
		if err != nil {
			return err
		}
		n.addr = addr
		n.env = append(slices.Clone(env), "OSTLER_ADDR="+addr, fmt.Sprintf("OSTLER_CHAOS_SEED=%d", a.seed+uint64(i)))
		own := database
		if s.linked && own != "" {
			u, err := url.Parse(own)
			if err != nil {
				return err
			}
			if n.link, err = newLink(ctx, u.Host); err != nil {
				return err
			}
			u.Host = n.link.addr
			own = u.String()
		}
		if own != "" {
			n.env = append(n.env, "OSTLER_DATABASE_URL="+own)
		}
		a.nodes = append(a.nodes, n)
	}
	return nil
}

// startNode starts a node that does not run, and finds out under which id its runner is registered.
func (a *arena) startNode(ctx context.Context, n *node) error {
	if err := n.start(ctx, a.program); err != nil {
		return err
	}
	if a.db == nil {
		database := "sqlite:" + filepath.Join(a.dir, "data", "ostler.db")
		if a.kind == postgres {
			database = a.server.database(a.name)
		}
		var err error
		if a.db, err = store.Open(ctx, store.Config{URL: database, MaxConns: 4}); err != nil {
			return err
		}
	}
	return a.identify(ctx, n)
}

// close ends everything that the arena has started, and removes what it left.
func (a *arena) close(ctx context.Context) error {
	var all []error
	for _, n := range a.nodes {
		if n.alive() {
			n.current().Kill()
		}
		if n.link != nil {
			n.link.close()
		}
	}
	if a.db != nil {
		all = append(all, a.db.Close())
	}
	if a.bus != nil {
		a.bus.kill()
	}
	if a.server != nil {
		if a.name != "" && !a.server.own() {
			all = append(all, a.server.exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{a.name}.Sanitize()+` WITH (FORCE)`))
		}
		all = append(all, a.server.remove())
	}
	if a.dir != "" {
		all = append(all, os.RemoveAll(a.dir))
	}
	return errors.Join(all...)
}

// said is what the nodes have printed last, for reports of what went wrong.
func (a *arena) said() string {
	text := ""
	for _, n := range a.nodes {
		if tail := n.output.tail(); tail != "" {
			text += n.name + " said last:\n" + tail + "\n"
		}
	}
	return text
}

// roll returns a number from least to most.
func (a *arena) roll(least, most int) int {
	a.diceMu.Lock()
	defer a.diceMu.Unlock()
	return least + a.dice.IntN(most-least+1)
}

func (a *arena) rollDuration(least, most time.Duration) time.Duration {
	return least + time.Duration(a.roll(0, int((most-least)/time.Millisecond)))*time.Millisecond
}

// progressf tells how far the run is.
func (a *arena) progressf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.tell, time.Now().Format("15:04:05.000 ")+a.kind+": "+format+"\n", args...)
}

// freeAddr returns a loopback address that nothing listens on. It keeps clear of the range that outgoing connections take their
// ports from, so that a process can be started again at the same address.
func freeAddr(ctx context.Context) (string, error) {
	for range 100 {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+mathrand.IntN(20_000)))
		if err != nil {
			continue
		}
		return l.Addr().String(), l.Close()
	}
	return "", errors.New("no free port was found")
}

// wait is a pause that the end of ctx cuts short.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
