package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/httpapi"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/runtime"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/waitmail"
)

// closers are undone in reverse.
type closers []func()

func (c *closers) add(fn func()) { *c = append(*c, fn) }

func (c *closers) run() {
	for _, fn := range slices.Backward(*c) {
		fn()
	}
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, cfg config, log *slog.Logger, out io.Writer) (err error) {
	var undo closers
	defer undo.run()
	b, err := openBase(ctx, cfg, log, &undo)
	if err != nil {
		return err
	}
	// After the wait for an earlier process to end, and before anything that others see: a server whose address is taken has made no owner,
	// whose password nobody would be told, and has claimed nothing.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.addr)
	if err != nil {
		return fmt.Errorf("listen on OSTLER_ADDR: %w", err)
	}
	undo.add(func() { _ = listener.Close() })
	owner, err := b.people.FirstStart(ctx)
	if err != nil {
		return err
	}
	if err := b.cat.RefreshBuiltIns(ctx); err != nil {
		return err
	}
	n, err := openNode(b, &undo)
	if err != nil {
		return err
	}
	server, err := n.server()
	if err != nil {
		return err
	}
	stop, err := background.Start(ctx, n.background()...)
	if err != nil {
		return err
	}
	undo.add(stop)
	if n.engine != nil {
		if err := n.engine.Start(ctx); err != nil {
			return err
		}
	}
	server.Serve(listener)
	announce(out, cfg, owner)
	<-ctx.Done()
	log.Info("shutting down")
	return shutdown(cfg, server, n.engine)
}

// background lists what this process does beside requests and turns. A periodic job is one line here.
func (n *node) background() []background.Service {
	list := []background.Service{n.people.KeyUseRecorder(n.log), n.waker}
	if n.id.keys != nil {
		list = append(list, auth.NewRotator(n.id.keys, orgs.RecordKey, n.log))
	}
	if n.cfg.role != roleRunner {
		list = append(list, n.most)
	}
	if n.cfg.role == roleAPI {
		return list
	}
	if n.cfg.budgetCheck > 0 {
		list = append(list, books.NewSelfCheck(books.SelfCheckConfig{
			Reconciler: books.NewReconciler(n.db, n.clk), Clock: n.clk, Logger: n.log, Meter: n.meter, Interval: n.cfg.budgetCheck,
		}).Job())
	}
	if after := n.cfg.mailsWaitsAfter(); after > 0 {
		list = append(list, waitmail.New(waitmail.Config{
			DB: n.db, Clock: n.clk, Logger: n.log, Sessions: n.work, Catalog: n.cat, Mail: n.mail, PublicURL: n.cfg.publicURL, After: after,
		}).Job())
	}
	return append(list,
		n.dispatcher,
		n.paying.NewSweeper(nil),
		orgs.NewSweeper(n.db, n.clk, n.log),
		audit.NewRetention(audit.RetentionConfig{DB: n.db, Log: n.auditLog, Clock: n.clk, Logger: n.log, Keep: n.cfg.auditRetention}),
		sessions.NewIndexer(n.db, n.eventLog).Job(n.log),
		sessions.NewDeadlines(sessions.DeadlinesConfig{DB: n.db, Committer: n.committer, Clock: n.clk, Logger: n.log}),
	)
}

// shutdown lets clients go elsewhere, then turns.
func shutdown(cfg config, server *httpapi.Server, engine *runtime.Engine) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.shutdown+5*time.Second)
	defer cancel()
	err := server.Stop(ctx)
	if engine != nil {
		err = errors.Join(err, engine.Stop(ctx))
	}
	return err
}

// announce tells people where to go, and scripts that the server is ready: by its last line. It writes once, so that nothing
// that is logged meanwhile gets in between.
func announce(out io.Writer, cfg config, owner *orgs.FirstOwner) {
	text := ""
	if owner != nil {
		text = "first start: sign in as " + owner.Email
		if owner.Password != "" {
			text += " with the password " + owner.Password + " (shown only now)"
		}
		text += "\n"
	}
	_, _ = io.WriteString(out, text+"ready "+cfg.publicURL+"\n")
}
