package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/approvals"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/expr"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

// env is a service over a fresh database with two organizations. Turns are never run.
type env struct {
	t        *testing.T
	db       *store.DB
	keeper   *secrets.Keeper
	registry *tools.Registry
	clock    *clock.Manual
	commit   *commit.Committer
	catalog  *catalog.Service
	svc      *Service
	by       *auth.Principal
	theirs   *auth.Principal
	// judge is what the policy of the capability "judge" decides; nil lets all calls run.
	judge func(ctx context.Context, call tools.GateCall) (tools.Verdict, error)
}

// judging is a capability with a policy that tests decide for.
func (e *env) judging() tools.Capability {
	return tools.Capability{ID: "judge", Name: "Judge", Description: "Decides.", Risk: "LOW", Gates: func(json.RawMessage) ([]tools.Gate, error) {
		return []tools.Gate{{Decide: func(ctx context.Context, call tools.GateCall) (tools.Verdict, error) {
			if e.judge == nil {
				return tools.Verdict{}, nil
			}
			return e.judge(ctx, call)
		}}}, nil
	}}
}

// watching is a capability with a hook that administrators attach, and watched a harmless one that brings it along.
func watching() tools.Capability {
	return tools.Capability{
		ID: "watching", Name: "Watching", Description: "Blocks calls.", Risk: "HIGH", Hooks: func(json.RawMessage) ([]tools.HookSpec, error) {
			return []tools.HookSpec{{Event: tools.HookPreToolUse, CEL: &tools.CELExecutor{Expression: "false"}}}, nil
		},
	}
}

func watched() tools.Capability {
	return tools.Capability{ID: "watched", Name: "Watched", Description: "Is watched.", Risk: "LOW", DependsOn: []string{"watching"}}
}

func newEnv(t *testing.T, db *store.DB) *env {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, db: db, keeper: keeper, clock: clock.NewManual(time.UnixMilli(1_800_000_000_000))}
	expressions, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	e.registry, err = tools.NewRegistry(core.Capability(), files.Capability(), budget.Capability(), approvals.Capability(expressions), e.judging(), watching(), watched())
	if err != nil {
		t.Fatal(err)
	}
	e.catalog = e.anotherCatalog()
	e.commit = commit.New(commit.Config{
		DB: db, Clock: e.clock,
	})
	t.Cleanup(e.commit.Stop)
	e.svc = New(Config{DB: db, Committer: e.commit, Catalog: e.catalog, Clock: e.clock})
	e.by, e.theirs = e.org("mine"), e.org("theirs")
	return e
}

// anotherCatalog is that of another process.
func (e *env) anotherCatalog() *catalog.Service {
	e.t.Helper()
	c, err := catalog.New(catalog.Config{DB: e.db, Registry: e.registry, Keeper: e.keeper, Clock: e.clock})
	if err != nil {
		e.t.Fatal(err)
	}
	return c
}

func (e *env) org(slug string) *auth.Principal {
	e.t.Helper()
	id := models.NewID[models.OrgEntity]()
	err := e.db.WriteAcross(e.t.Context(), func(tx *gorm.DB) error {
		row := models.Org{ID: id, Name: slug, Slug: slug, CreatedAt: 1}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		harness, model, err := e.catalog.SeedOrg(e.t.Context(), tx, id, 1)
		if err != nil {
			return err
		}
		return tx.Model(&models.Org{}).Where("id = ?", id).Updates(models.Org{DefaultHarnessID: &harness, DefaultModelID: &model}).Error
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return &auth.Principal{OrgID: id, Role: models.RoleOwner, Permissions: auth.RolePermissions(models.RoleOwner, false)}
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, e *env)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newEnv(t, db)) })
}

func (e *env) create() *models.Session {
	e.t.Helper()
	s, err := e.svc.Create(e.t.Context(), e.by, NewSession{})
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

func (e *env) log(session models.SessionID) []models.Event {
	e.t.Helper()
	list, err := events.NewLog(e.db).Read(e.t.Context(), e.by.OrgID, session, 0, events.Limit{Events: 5000, Bytes: 64 << 20})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := events.CheckPrefix(list); err != nil {
		e.t.Fatal(err)
	}
	return list
}

func (e *env) kinds(session models.SessionID) string {
	e.t.Helper()
	var list []string
	for _, ev := range e.log(session) {
		list = append(list, string(ev.Kind))
	}
	return strings.Join(list, ",")
}

func ptr[T any](v T) *T { return &v }

// wantFault checks code and path of a failure.
func wantFault(t *testing.T, err error, code fault.Code, path string) {
	t.Helper()
	f := fault.As(err)
	if f == nil {
		t.Fatalf("want %s at %q, got %v", code, path, err)
	}
	if got := strings.Join(f.Path, "."); f.Code != code || got != path || f.Message == "" {
		t.Fatalf("want %s at %q, got %s at %q: %s", code, path, f.Code, got, f.Message)
	}
}
