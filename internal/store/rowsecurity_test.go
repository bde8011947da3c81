package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// Statements that forget the organization see that of the caller and nothing else, in every way there is to PostgreSQL.
func TestPostgresItselfKeepsOrganizationsApart(t *testing.T) {
	db := storetest.Postgres(t)
	mine, theirs := seedOrg(t, db, "mine"), seedOrg(t, db, "theirs")
	for _, org := range []models.OrgID{mine.ID, theirs.ID} {
		p := provider(org, "p")
		if err := db.Write(t.Context(), org, func(tx *gorm.DB) error { return tx.Create(&p).Error }); err != nil {
			t.Fatal(err)
		}
	}
	const all = `SELECT org_id FROM providers`
	seen := func(org models.OrgID) map[string][]models.OrgID {
		t.Helper()
		found := map[string][]models.OrgID{}
		var one models.OrgID
		ways := map[string]func() error{
			"Read": func() error {
				var list []models.OrgID
				err := db.Read(t.Context(), org).Raw(all).Scan(&list).Error
				found["Read"] = list
				return err
			},
			"Write": func() error {
				return db.Write(t.Context(), org, func(tx *gorm.DB) error {
					var list []models.OrgID
					err := tx.Raw(all).Scan(&list).Error
					found["Write"] = list
					return err
				})
			},
			"Query": func() error {
				return db.Query(t.Context(), org, func(r store.Row) error {
					err := r.Scan(&one)
					found["Query"] = append(found["Query"], one)
					return err
				}, all)
			},
			"QueryRow": func() error {
				err := db.QueryRow(t.Context(), org, all).Scan(&one)
				found["QueryRow"] = append(found["QueryRow"], one)
				return err
			},
			"Exec": func() error {
				n, err := db.Exec(t.Context(), org, `UPDATE providers SET updated_at = updated_at + 1`)
				if n != 1 {
					t.Errorf("a statement on all providers changed %d of them", n)
				}
				found["Exec"] = []models.OrgID{org}
				return err
			},
		}
		for name, way := range ways {
			if err := way(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		return found
	}
	for _, org := range []models.OrgID{mine.ID, theirs.ID, mine.ID} {
		for way, list := range seen(org) {
			if len(list) != 1 || list[0] != org {
				t.Errorf("%s of %s sees %v", way, org, list)
			}
		}
	}
	var none []models.OrgID
	if err := db.Read(t.Context(), models.OrgID{}).Raw(all).Scan(&none).Error; err != nil || len(none) > 0 {
		t.Errorf("without an organization one sees %v, %v", none, err)
	}
}

func TestPostgresRefusesToWriteForAnotherOrganization(t *testing.T) {
	db := storetest.Postgres(t)
	mine, theirs := seedOrg(t, db, "mine"), seedOrg(t, db, "theirs")
	p := provider(theirs.ID, "p")
	err := db.Write(t.Context(), mine.ID, func(tx *gorm.DB) error { return tx.Create(&p).Error })
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" {
		t.Fatalf("a row for another organization: %v", err)
	}
	if err := db.Write(t.Context(), theirs.ID, func(tx *gorm.DB) error { return tx.Create(&p).Error }); err != nil {
		t.Fatal(err)
	}
	n, err := db.Exec(t.Context(), mine.ID, `UPDATE providers SET name = 'stolen' WHERE id = ?`, p.ID)
	if n != 0 || err != nil {
		t.Errorf("another organization's row was changed: %d, %v", n, err)
	}
	err = db.Write(t.Context(), mine.ID, func(tx *gorm.DB) error {
		return tx.Exec(`UPDATE orgs SET name = 'stolen' WHERE id = ?`, theirs.ID[:]).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	var name string
	if err := db.QueryRow(t.Context(), theirs.ID, `SELECT name FROM orgs`).Scan(&name); err != nil || name != "theirs" {
		t.Errorf("the other organization is called %q, %v", name, err)
	}
}

// What is secret to all organizations is closed to the role that works for one, and the engine can't touch what it has no business with.
func TestRolesTouchOnlyWhatTheyNeed(t *testing.T) {
	db := storetest.Postgres(t)
	org := seedOrg(t, db, "one")
	for _, table := range []string{"users", "sign_ins", "refresh_tokens", "signing_keys", "master_keys"} {
		_, err := db.Exec(t.Context(), org.ID, "SELECT 1 FROM "+table)
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" {
			t.Errorf("the role of an organization may read %s: %v", table, err)
		}
	}
	for _, table := range []string{"saved_views", "images"} {
		_, err := db.Pool.Exec(t.Context(), "SELECT 1 FROM "+table)
		if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "42501" {
			t.Errorf("the engine may read %s: %v", table, err)
		}
	}
	for _, pool := range []string{"SELECT current_user", "SELECT session_user"} {
		var user string
		if err := db.Pool.QueryRow(t.Context(), pool).Scan(&user); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(pool, "current") && user != "ostler_engine" {
			t.Errorf("the engine works as %s", user)
		}
	}
}

// Every table that has an organization is secured, for its owner, too.
func TestEveryTenantTableHasPolicies(t *testing.T) {
	db := storetest.Postgres(t)
	rows, err := db.Pool.Query(t.Context(), `SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity
			AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND (p.polname = 'tenant' OR c.relname = 'sign_ins'))
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped
		WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var table string
		var secured bool
		if err := rows.Scan(&table, &secured); err != nil {
			t.Fatal(err)
		}
		if n++; !secured {
			t.Errorf("%s has no policy, or it is not enforced", table)
		}
	}
	if rows.Err() != nil || n < 25 {
		t.Errorf("%d tables were looked at, %v", n, rows.Err())
	}
}

// Statements that are broken off leave no connection behind that works for somebody else.
func TestBrokenStatementsLeaveNothingBehind(t *testing.T) {
	db := storetest.Postgres(t)
	mine, theirs := seedOrg(t, db, "mine"), seedOrg(t, db, "theirs")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			org, other := mine, theirs
			if i%2 == 0 {
				org, other = theirs, mine
			}
			ctx, cancel := context.WithCancel(t.Context())
			_ = db.Query(ctx, org.ID, func(store.Row) error { cancel(); return errors.New("enough") }, `SELECT generate_series(1, 100000)`)
			_ = db.Read(ctx, org.ID).Exec(`SELECT 1 / 0`).Error
			if err := db.Read(t.Context(), org.ID).Exec(`SELECT 1 / 0`).Error; err == nil {
				t.Error("a division by zero succeeded")
			}
			rows, err := db.Read(t.Context(), org.ID).Raw(`SELECT generate_series(1, 1000)`).Rows()
			if err != nil {
				t.Error(err)
				return
			}
			rows.Next()
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
			_ = db.Write(t.Context(), org.ID, func(tx *gorm.DB) error { return errors.Join(tx.Exec(`SELECT 1`).Error, errors.New("no")) })
			var names []string
			if err := db.Read(t.Context(), other.ID).Raw(`SELECT name FROM orgs`).Scan(&names).Error; err != nil || len(names) != 1 || names[0] != other.Name {
				t.Errorf("%s sees %v, %v", other.Name, names, err)
			}
		})
	}
	wg.Wait()
	if n := db.Pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
}

// A connection that doesn't begin with its role, as one that a pooler hands out, sees no more than others.
func TestTheWallStandsOnAnyConnection(t *testing.T) {
	db, err := store.Open(t.Context(), store.Config{URL: storetest.PostgresURL(t), RowSecurity: true, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	mine := seedOrg(t, db, "mine")
	seedOrg(t, db, "theirs")
	// From now on the one connection works as the user of the URL, who owns everything.
	if _, err := db.Exec(t.Context(), mine.ID, `SELECT set_config('role', 'none', false)`); err != nil {
		t.Fatal(err)
	}
	const names = `SELECT name FROM orgs`
	ways := map[string]func() ([]string, error){
		"Read": func() (list []string, err error) {
			err = db.Read(t.Context(), mine.ID).Raw(names).Scan(&list).Error
			return list, err
		},
		"Write": func() (list []string, err error) {
			err = db.Write(t.Context(), mine.ID, func(tx *gorm.DB) error { return tx.Raw(names).Scan(&list).Error })
			return list, err
		},
		"Query": func() (list []string, err error) {
			err = db.Query(t.Context(), mine.ID, func(r store.Row) error {
				var name string
				err := r.Scan(&name)
				list = append(list, name)
				return err
			}, names)
			return list, err
		},
	}
	for name, way := range ways {
		if list, err := way(); err != nil || len(list) != 1 || list[0] != "mine" {
			t.Errorf("%s sees %v, %v", name, list, err)
		}
	}
}

// Nobody can forget to say whose rows a new table holds.
func TestATableThatBelongsToNobodyIsRefused(t *testing.T) {
	db := storetest.AsOwner(t, storetest.Postgres(t))
	if _, err := db.Pool.Exec(t.Context(), `CREATE TABLE loose (id int)`); err != nil {
		t.Fatal(err)
	}
	if err := db.SecureRows(t.Context(), true); err == nil || !strings.Contains(err.Error(), "table loose") {
		t.Errorf("got %v", err)
	}
	if _, err := db.Pool.Exec(t.Context(), `ALTER TABLE loose ADD org_id uuid`); err != nil {
		t.Fatal(err)
	}
	if err := db.SecureRows(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var secured bool
	err := db.Pool.QueryRow(t.Context(), `SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE relname = 'loose'`).Scan(&secured)
	if err != nil || !secured {
		t.Errorf("a new table with an organization is secured: %v, %v", secured, err)
	}
}

func TestRowSecurityIsTakenDownAndPutUpAgain(t *testing.T) {
	url := storetest.PostgresURL(t)
	owner, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close() })
	for _, on := range []bool{false, false, true, true} {
		if err := owner.SecureRows(t.Context(), on); err != nil {
			t.Fatal(err)
		}
		var secured int
		err := owner.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relrowsecurity AND relnamespace = 'public'::regnamespace`).Scan(&secured)
		if err != nil || (secured > 0) != on {
			t.Errorf("row-level security is to be %v, and %d tables have it, %v", on, secured, err)
		}
	}
}
