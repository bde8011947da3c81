package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ostler-dev/ostler/bench/procs"
)

const (
	sqlite   = "sqlite"
	postgres = "postgres"

	ownerEmail    = "owner@bench.invalid"
	ownerPassword = "correct horse battery staple"
)

// place is where a product or a floor keeps its data: a directory, and on PostgreSQL a database.
type place struct {
	bench *bench
	dir   string
	name  string // of the database
	url   string // of the database; empty for SQLite
	key   string // the master key
	addr  string // of the product, the same at each start: tokens name it
	env   []string
	// errors gets what the product prints on standard error; nil for nobody.
	errors io.Writer
}

func (b *bench) newPlace(ctx context.Context, kind string) (*place, error) {
	dir, err := os.MkdirTemp(b.dir, kind+"-")
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	p := &place{bench: b, dir: dir, key: base64.StdEncoding.EncodeToString(key)}
	if kind == sqlite {
		return p, nil
	}
	p.name = "bench_" + filepath.Base(dir)[len(kind)+1:]
	if err := b.asSuperuser(ctx, `CREATE DATABASE `+pgx.Identifier{p.name}.Sanitize()); err != nil {
		return nil, err
	}
	u, err := url.Parse(b.postgres)
	if err != nil {
		return nil, err
	}
	u.Path = "/" + p.name
	p.url = u.String()
	return p, nil
}

// remove drops what is there.
func (p *place) remove(ctx context.Context) error {
	err := os.RemoveAll(p.dir)
	if p.url != "" {
		err = errors.Join(err, p.bench.asSuperuser(ctx, `DROP DATABASE `+pgx.Identifier{p.name}.Sanitize()+` WITH (FORCE)`))
	}
	return err
}

func (b *bench) asSuperuser(ctx context.Context, statements ...string) error {
	if b.postgres == "" {
		return errors.New("OSTLER_TEST_POSTGRES_URL is not set: run this with scripts/with-postgres --durable")
	}
	conn, err := pgx.Connect(ctx, b.postgres)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// startProduct starts the product's binary on a place.
func (b *bench) startProduct(ctx context.Context, at *place) (*procs.Process, error) {
	if at.addr == "" {
		var err error
		if at.addr, err = freeAddr(ctx); err != nil {
			return nil, err
		}
	}
	env := []string{
		"OSTLER_ADDR=" + at.addr,
		"OSTLER_DATA_DIR=" + at.dir,
		"OSTLER_MASTER_KEY=" + at.key,
		"OSTLER_ADMIN_EMAIL=" + ownerEmail,
		"OSTLER_ADMIN_PASSWORD=" + ownerPassword,
		// One organization makes all of the load.
		"OSTLER_ORG_REQUESTS_PER_MINUTE=0", "OSTLER_ORG_TOOL_CALLS=0", "OSTLER_ORG_QUEUED_TURNS=0", "OSTLER_ORG_SESSIONS=0", "OSTLER_ORG_AGENTS=0",
		"OSTLER_ORG_SUBSCRIPTIONS=0", "OSTLER_ORG_SOCKETS=0",
	}
	if at.url != "" {
		env = append(env, "OSTLER_DATABASE_URL="+at.url)
	}
	p, err := procs.Start(ctx, procs.Program{Path: b.product, Args: []string{"serve"}, Env: slices.Concat(env, at.env, b.env), Errors: at.errors})
	if err != nil {
		return nil, err
	}
	p.URL = "http://" + at.addr // it tells its public name, which may be another one
	return p, nil
}

// freeAddr returns a loopback address that nothing listens on.
func freeAddr(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// durability returns how commits are made to last, as the database itself says.
func (b *bench) durability(ctx context.Context, kind string) (string, error) {
	if kind == sqlite {
		return "WAL, synchronous=FULL (the product's default)", nil
	}
	if kind != postgres {
		return "", fmt.Errorf("unknown database %q", kind)
	}
	if b.postgres == "" {
		return "", errors.New("OSTLER_TEST_POSTGRES_URL is not set: run this with scripts/with-postgres --durable")
	}
	conn, err := pgx.Connect(ctx, b.postgres)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var version, fsync, synchronous, fullPage string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('full_page_writes')`).Scan(&version, &fsync, &synchronous, &fullPage)
	if err != nil {
		return "", err
	}
	if fsync != "on" || synchronous != "on" {
		return "", fmt.Errorf("fsync=%s, synchronous_commit=%s: figures of a server that may lose commits are none", fsync, synchronous)
	}
	return fmt.Sprintf("PostgreSQL %s, fsync=on, synchronous_commit=on, full_page_writes=%s", version, fullPage), nil
}
