package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/files"
)

// env is a service over a fresh database with two organizations.
type env struct {
	t      *testing.T
	db     *store.DB
	clock  *clock.Manual
	keeper *secrets.Keeper
	svc    *catalog.Service
	mine   org
	theirs org
}

type org struct {
	id      models.OrgID
	admin   *auth.Principal
	member  *auth.Principal
	generic models.HarnessID
	model   models.ModelID
}

// registry has the built-in capabilities, one with settings, one of high risk, and a policy.
func registry(t *testing.T, more ...tools.Capability) *tools.Registry {
	t.Helper()
	caps := append([]tools.Capability{
		core.Capability(), files.Capability(), budget.Capability(),
		{
			ID: "tuned", Name: "Tuned", Description: "Has settings.", Risk: "LOW", Prompt: "Mind the level.",
			ConfigSchema: json.RawMessage(`{"type":"object","properties":{"level":{"type":"integer","minimum":1},"note":{"type":"string"}},"additionalProperties":false}`),
		},
		{ID: "risky", Name: "Risky", Description: "Can do harm.", Risk: "HIGH"},
		{ID: "drags", Name: "Drags", Description: "Needs a risky one.", Risk: "LOW", DependsOn: []string{"risky"}},
		{
			ID: "policy", Name: "Policy", Description: "Decides about calls.", Risk: "HIGH",
			Gates: func(json.RawMessage) ([]tools.Gate, error) { return nil, nil },
		},
		{ID: "guarded", Name: "Guarded", Description: "Needs the policy.", Risk: "LOW", DependsOn: []string{"policy"}},
	}, more...)
	r, err := tools.NewRegistry(caps...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newEnv(t *testing.T, db *store.DB) *env {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, db: db, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), keeper: keeper}
	e.svc = e.service(registry(t))
	e.mine, e.theirs = e.org("mine"), e.org("theirs")
	return e
}

// service makes another service over the same database, as another process would.
func (e *env) service(r *tools.Registry) *catalog.Service {
	e.t.Helper()
	svc, err := catalog.New(catalog.Config{DB: e.db, Registry: r, Keeper: e.keeper, Clock: e.clock})
	if err != nil {
		e.t.Fatal(err)
	}
	return svc
}

func (e *env) org(slug string) org {
	e.t.Helper()
	o := org{id: models.NewID[models.OrgEntity]()}
	e.write(func(tx *gorm.DB) error {
		row := models.Org{ID: o.id, Name: slug, Slug: slug, CreatedAt: 1}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		var err error
		if o.generic, o.model, err = e.svc.SeedOrg(e.t.Context(), tx, o.id, 1); err != nil {
			return err
		}
		return tx.Model(&models.Org{}).Where("id = ?", o.id).
			Updates(models.Org{DefaultHarnessID: &o.generic, DefaultModelID: &o.model}).Error
	})
	o.admin = &auth.Principal{OrgID: o.id, Role: models.RoleAdmin, Permissions: auth.RolePermissions(models.RoleAdmin, false)}
	o.member = &auth.Principal{OrgID: o.id, Role: models.RoleMember, Permissions: auth.RolePermissions(models.RoleMember, false)}
	return o
}

func (e *env) write(fn func(tx *gorm.DB) error) {
	e.t.Helper()
	if err := e.db.WriteAcross(context.Background(), fn); err != nil {
		e.t.Fatal(err)
	}
}

// writeOwn is write for rows of the first organization.
func (e *env) writeOwn(fn func(tx *gorm.DB) error) {
	e.t.Helper()
	if err := e.db.Write(context.Background(), e.mine.id, fn); err != nil {
		e.t.Fatal(err)
	}
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, e *env)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) { test(t, newEnv(t, db)) })
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantFault checks code and path of a failure.
func wantFault(t *testing.T, err error, code fault.Code, path string) {
	t.Helper()
	f := fault.As(err)
	if f == nil {
		t.Fatalf("want %s at %q, got %v", code, path, err)
	}
	if got := strings.Join(f.Path, "."); f.Code != code || got != path {
		t.Fatalf("want %s at %q, got %s at %q: %s", code, path, f.Code, got, f.Message)
	}
}

func (e *env) harness(in catalog.NewHarness) *models.Harness {
	e.t.Helper()
	return must(e.svc.CreateHarness(e.t.Context(), e.mine.admin, in))(e.t)
}

func (e *env) agent(in catalog.NewAgent) *models.Agent {
	e.t.Helper()
	return must(e.svc.CreateAgent(e.t.Context(), e.mine.admin, in))(e.t)
}

// statements counts what the service reads from the database from now on.
func (e *env) statements() *atomic.Int64 {
	e.t.Helper()
	var n atomic.Int64
	note := func(tx *gorm.DB) {
		if !tx.DryRun { // a statement inside of another one is not run
			n.Add(1)
		}
	}
	cb := e.db.Read(e.t.Context(), e.mine.id).Callback()
	if err := cb.Query().After("gorm:query").Register("test:count", note); err != nil {
		e.t.Fatal(err)
	}
	if err := cb.Row().After("gorm:row").Register("test:count", note); err != nil {
		e.t.Fatal(err)
	}
	return &n
}

func refs(ids ...string) []models.CapabilityRef {
	list := make([]models.CapabilityRef, 0, len(ids))
	for _, id := range ids {
		list = append(list, models.CapabilityRef{ID: id})
	}
	return list
}
