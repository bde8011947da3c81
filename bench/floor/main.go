// Floor is the least program that does the same durable work as a turn of the product: HTTP POST → events through a
// group committer → model → tool → model → server-sent events to the client. It has no GraphQL, no authentication,
// no queue, no claims and no budgets. The product's figures are ratios to it. It shares no code with the product and
// is tuned on its own.
//
//	POST /sessions {"count": 3, "model": "builtin" | "http"}  makes sessions, answers {"ids": […]}
//	GET  /sessions/{id}/events                                streams the session's events
//	POST /sessions/{id}/messages?turn=tool|text               answers when the message is durable
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/ostler-dev/ostler/bench/turnshape"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	database := flag.String("database", "", "postgres://… or the path of a SQLite file")
	modelURL := flag.String("model-url", "", "the fake model, for sessions with model http")
	shapeFile := flag.String("shape", "", "file with the shapes of turns; the default ones without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *database, *modelURL, *shapeFile); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do for the signal handler
	}
}

func run(ctx context.Context, addr, database, modelURL, shapeFile string) error {
	shapes := turnshape.Default
	if shapeFile != "" {
		var err error
		if shapes, err = turnshape.Read(shapeFile); err != nil {
			return err
		}
	}
	log, err := openLog(ctx, database)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	committer := newCommitter(log, func(err error) {
		select {
		case failed <- err:
		default:
		}
	})
	s := newServer(committer, shapes, modelURL)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	httpServer := &http.Server{Handler: s.routes()} //nolint:gosec // only the load generator calls it
	go func() {
		if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	fmt.Println("ready http://" + listener.Addr().String())
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	_ = httpServer.Close()
	committer.stop()
	return errors.Join(err, log.close())
}

// openLog opens the log for the kind of database that the address names.
func openLog(ctx context.Context, database string) (eventLog, error) {
	if strings.HasPrefix(database, "postgres://") {
		return openPostgres(ctx, database)
	}
	if database == "" {
		return nil, errors.New("-database is missing")
	}
	return openSQLite(ctx, database)
}
