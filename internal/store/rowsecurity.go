package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The roles of PostgreSQL that the program works as when row-level security is on. Their policies are the second wall between
// organizations, behind the conditions that every statement names itself. The owner, who migrates, sees everything; nobody bypasses.
const (
	// appRole sees the rows of one organization: that of the transaction. See setOrg.
	appRole = "ostler_app"
	// engineRole sees the rows of all organizations in the tables of engineTables: the committer, claims, sweeps and sign-in cross
	// organizations by nature.
	engineRole = "ostler_engine"
)

// engineTables are the tenant tables that the engine's role may touch. All others are closed to it.
var engineTables = []string{ //nolint:gochecknoglobals // a constant
	"orgs", "memberships", "invitations", "api_keys", "sign_ins",
	"sessions", "session_files", "session_lineage", "session_tags", "session_words", "session_todos", "turns", "messages", "events", "effects",
	"waits", "approval_decisions", "turn_feedback", "wait_mails", "checkpoints", "blobs", "idempotency_keys", "client_toolsets", "hook_jobs", "org_feeds", "word_feeds", "org_loads", "org_storage", "org_rates", "org_leases",
	"audit_entries", "audit_heads", "audit_anchors",
	"providers", "models", "model_prices", "harnesses", "harness_revisions", "agents", "agent_revisions", // what organizations begin with, and new versions refresh
	"org_secrets",
	"webhooks", "webhook_deliveries", // found when they are due, whosever they are
	"budgets", "budget_slots", "usage_journal", "ledger_entries", "usage_hours", "session_usage_hours",
	"payments", "payment_days", // written by commands, and found when they are due
	"payment_policies", // whose secrets are wrapped anew
}

// sharedTables belong to no organization.
var sharedTables = []string{"users", "identities", "spent_states", "password_resets", "refresh_tokens", "signing_keys", "master_keys", "runners", "api_nodes"} //nolint:gochecknoglobals // a constant

// personalTables have an organization and belong to a person: the role of one organization has nothing to do with them.
var personalTables = []string{"sign_ins"} //nolint:gochecknoglobals // a constant

// SecureRows puts row-level security up on all tables that have an organization, or takes it down, as whoever owns the tables. It
// changes nothing where all is as it should be. It is done after each Migrate, so that a new table is covered by itself. Those whom the
// URLs name may work as the roles afterwards. On SQLite, which has no such thing, it does nothing.
func (db *DB) SecureRows(ctx context.Context, on bool, logins ...string) error {
	if db.Pool == nil {
		return nil
	}
	users := make([]string, len(logins))
	for i, login := range logins {
		cfg, err := pgx.ParseConfig(login)
		if err != nil {
			return fmt.Errorf("read the URL of PostgreSQL: %w", err)
		}
		users[i] = cfg.User
	}
	err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('ostler row security'))"); err != nil {
			return err //nolint:wrapcheck // below
		}
		tables, err := readTables(ctx, tx)
		if err != nil {
			return err
		}
		if !on {
			return exec(ctx, tx, takeDown(tables))
		}
		if err := exec(ctx, tx, makeRoles(users)); err != nil {
			return err
		}
		statements, err := putUp(tables)
		return errors.Join(err, exec(ctx, tx, statements))
	})
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42501" {
		return fmt.Errorf("row-level security needs the roles %s and %s, and this role may neither create nor grant them: "+
			"create them once (CREATE ROLE … NOLOGIN) and grant both to the users of the database URLs, or switch it off with OSTLER_ROW_SECURITY=off: %w",
			appRole, engineRole, err)
	}
	if err != nil {
		return fmt.Errorf("set up row-level security: %w", err)
	}
	return nil
}

// table is a table as it is.
type table struct {
	name    string
	tenant  bool // it has an organization
	secured bool // row-level security is on, for the owner, too
	// policies are those that it has, granted the roles that may touch it.
	policies, granted []string
}

func readTables(ctx context.Context, tx pgx.Tx) ([]table, error) {
	rows, err := tx.Query(ctx, `SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped),
		c.relrowsecurity AND c.relforcerowsecurity, ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid),
		ARRAY(SELECT DISTINCT r.rolname::text FROM aclexplode(c.relacl) g JOIN pg_roles r ON r.oid = g.grantee)
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY c.relname`)
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (table, error) {
		var t table
		err := row.Scan(&t.name, &t.tenant, &t.secured, &t.policies, &t.granted)
		return t, err //nolint:wrapcheck // below
	})
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	return list, nil
}

func exec(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// makeRoles makes the roles where they don't exist, and lets users work as them. Roles belong to the server, not to the database, so that
// another database may have made them, even just now.
func makeRoles(users []string) []string {
	var list []string
	for _, role := range []string{appRole, engineRole} {
		list = append(list, `DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+role+`') THEN CREATE ROLE `+role+` NOLOGIN; END IF;
			EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
			`DO $$ BEGIN
			IF NOT has_schema_privilege('`+role+`', current_schema(), 'USAGE') THEN EXECUTE format('GRANT USAGE ON SCHEMA %I TO `+role+`', current_schema()); END IF;
			END $$`)
		for _, user := range users {
			name := "'" + strings.ReplaceAll(user, "'", "''") + "'"
			list = append(list, `DO $$ BEGIN
				IF NOT pg_has_role(`+name+`, '`+role+`', 'MEMBER') THEN EXECUTE format('GRANT `+role+` TO %I', `+name+`); END IF;
				END $$`)
		}
	}
	return list
}

func putUp(tables []table) ([]string, error) {
	var list []string
	for _, t := range tables {
		if t.name == "goose_db_version" {
			list = append(list, t.grant(appRole, "SELECT"), t.grant(engineRole, "SELECT"))
			continue
		}
		if slices.Contains(sharedTables, t.name) {
			list = append(list, t.grant(engineRole, "SELECT, INSERT, UPDATE, DELETE"))
			continue
		}
		organization := "org_id"
		if t.name == "orgs" {
			organization = "id"
		} else if !t.tenant {
			return nil, fmt.Errorf("table %s has no organization and is not listed as one that all share", t.name)
		}
		if !slices.Contains(personalTables, t.name) {
			list = append(list, t.grant(appRole, "SELECT, INSERT, UPDATE, DELETE"),
				t.policy("tenant", appRole, organization+" = nullif(current_setting('app.org_id', true), '')::uuid"))
		}
		if slices.Contains(engineTables, t.name) {
			list = append(list, t.grant(engineRole, "SELECT, INSERT, UPDATE, DELETE"), t.policy("engine", engineRole, "true"))
		}
		list = append(list, t.policy("owner", "CURRENT_USER", "true"))
		if !t.secured {
			list = append(list, "ALTER TABLE "+t.quoted()+" ENABLE ROW LEVEL SECURITY", "ALTER TABLE "+t.quoted()+" FORCE ROW LEVEL SECURITY")
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" }), nil
}

func (t table) quoted() string { return pgx.Identifier{t.name}.Sanitize() }

// grant returns the statement that lets a role touch the table; empty when it may.
func (t table) grant(role, rights string) string {
	if slices.Contains(t.granted, role) {
		return ""
	}
	return "GRANT " + rights + " ON " + t.quoted() + " TO " + role
}

// policy returns the statement that makes a policy, which holds for reading and for writing; empty when it is there.
func (t table) policy(name, role, condition string) string {
	if slices.Contains(t.policies, name) {
		return ""
	}
	return "CREATE POLICY " + name + " ON " + t.quoted() + " TO " + role + " USING (" + condition + ")"
}

func takeDown(tables []table) []string {
	var list []string
	for _, t := range tables {
		if t.secured {
			list = append(list, "ALTER TABLE "+t.quoted()+" DISABLE ROW LEVEL SECURITY", "ALTER TABLE "+t.quoted()+" NO FORCE ROW LEVEL SECURITY")
		}
	}
	return list
}
