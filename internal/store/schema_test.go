package store_test

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm/schema"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// dbColumn is a column as the database describes it.
type dbColumn struct {
	Table, Name, Type string
	Nullable, Key     bool
}

const postgresColumns = `SELECT c.table_name AS "table", c.column_name AS name, c.data_type AS type, c.is_nullable = 'YES' AS nullable,
EXISTS (SELECT 1 FROM information_schema.table_constraints t JOIN information_schema.key_column_usage u USING (constraint_schema, constraint_name)
  WHERE t.constraint_type = 'PRIMARY KEY' AND t.table_name = c.table_name AND u.column_name = c.column_name) AS key
FROM information_schema.columns c WHERE c.table_schema = 'public'`

const sqliteColumns = `SELECT m.name AS "table", c.name AS name, c.type AS type, c."notnull" = 0 AS nullable, c.pk > 0 AS key
FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`

// The migrations and the models agree, column by column, in both directions.
func TestTheSchemaIsThatOfTheModels(t *testing.T) {
	all := []any{
		&models.Org{}, &models.User{}, &models.Membership{}, &models.Invitation{}, &models.SignIn{}, &models.RefreshToken{}, &models.SigningKey{}, &models.MasterKey{}, &models.OrgSecret{},
		&models.Provider{}, &models.Model{}, &models.Harness{}, &models.Agent{},
		&models.Session{}, &models.Turn{}, &models.Message{}, &models.Event{}, &models.Effect{}, &models.Checkpoint{}, &models.SessionFile{},
		&models.HarnessRevision{}, &models.AgentRevision{}, &models.Image{}, &models.OrgFeed{}, &models.AuditEntry{}, &models.AuditHead{}, &models.APIKey{}, &models.AuditAnchor{}, &models.Blob{}, &models.SessionTodos{}, &models.IdempotencyKey{}, &models.Runner{}, &models.OrgLoad{}, &models.OrgStorage{},
		&models.Lineage{}, &models.Wait{}, &models.SessionSetup{}, &models.ApprovalDecision{}, &models.HookJob{},
		&models.PasswordReset{}, &models.Identity{}, &models.SpentState{}, &models.Webhook{}, &models.WebhookDelivery{},
		&models.Budget{}, &models.BudgetSlot{}, &models.JournalEntry{}, &models.LedgerEntry{}, &models.UsageHour{}, &models.SessionUsageHour{}, &models.ModelPrice{},
		&models.PaymentPolicy{}, &models.Payment{}, &models.PaymentDay{},
		&models.OrgRate{}, &models.APINode{}, &models.OrgLease{}, &models.MessageWord{}, &models.WordFeed{}, &models.IndexedSession{}, &models.SavedView{}, &models.Feedback{}, &models.WaitMail{},
	}
	// These have no model: one is goose's, the others index sessions by their tags and words.
	without := []string{"goose_db_version", "session_tags", "session_words"}
	storetest.EachOwner(t, func(t *testing.T, db *store.DB) {
		query := postgresColumns
		if db.Dialect == store.SQLite {
			query = sqliteColumns
		}
		var list []dbColumn
		if err := db.ReadAcross(t.Context()).Raw(query).Scan(&list).Error; err != nil {
			t.Fatal(err)
		}
		have := map[string]map[string]dbColumn{}
		for _, c := range list {
			if have[c.Table] == nil {
				have[c.Table] = map[string]dbColumn{}
			}
			have[c.Table][c.Name] = c
		}
		for _, m := range all {
			s, err := schema.Parse(m, &sync.Map{}, schema.NamingStrategy{})
			if err != nil {
				t.Fatal(err)
			}
			columns := have[s.Table]
			delete(have, s.Table)
			for _, f := range s.Fields {
				if f.DBName == "" {
					continue
				}
				c, ok := columns[f.DBName]
				delete(columns, f.DBName)
				if !ok {
					t.Errorf("%s.%s is in the model, and not in the database", s.Table, f.DBName)
					continue
				}
				compareColumn(t, db.Dialect, f, c)
			}
			for name := range columns {
				t.Errorf("%s.%s is in the database, and not in the model", s.Table, name)
			}
		}
		for table := range have {
			if !slices.Contains(without, table) {
				t.Errorf("table %s has no model", table)
			}
		}
	})
}

func compareColumn(t *testing.T, dialect store.Dialect, f *schema.Field, c dbColumn) {
	t.Helper()
	kind := f.IndirectFieldType.Kind()
	types := map[store.Dialect]string{store.Postgres: "bigint", store.SQLite: "INTEGER"}
	switch {
	case f.TagSettings["TYPE"] == "text":
		types = map[store.Dialect]string{store.Postgres: "text", store.SQLite: "TEXT"}
	case f.Serializer != nil || f.IndirectFieldType == reflect.TypeFor[models.JSON]() || f.IndirectFieldType == reflect.TypeFor[models.ModelIDs]() ||
		f.IndirectFieldType == reflect.TypeFor[models.ClientTools]():
		types = map[store.Dialect]string{store.Postgres: "json", store.SQLite: "TEXT"}
	case kind == reflect.Array:
		types = map[store.Dialect]string{store.Postgres: "uuid", store.SQLite: "BLOB"}
	case kind == reflect.Slice:
		types = map[store.Dialect]string{store.Postgres: "bytea", store.SQLite: "BLOB"}
	case kind == reflect.String:
		types = map[store.Dialect]string{store.Postgres: "text", store.SQLite: "TEXT"}
	case kind == reflect.Bool:
		types = map[store.Dialect]string{store.Postgres: "boolean", store.SQLite: "INTEGER"}
	}
	if c.Type != types[dialect] {
		t.Errorf("%s.%s is %s in the database, the model wants %s", c.Table, c.Name, c.Type, types[dialect])
	}
	// Bytes and JSON are nil or empty where there are none; whether that may be NULL is up to the column.
	bytes := kind == reflect.Slice && f.Serializer == nil
	if pointer := f.FieldType.Kind() == reflect.Pointer; pointer != c.Nullable && !bytes {
		t.Errorf("%s.%s: nullable is %v in the database, and %v in the model", c.Table, c.Name, c.Nullable, pointer)
	}
	if f.PrimaryKey != c.Key {
		t.Errorf("%s.%s: part of the key is %v in the database, and %v in the model", c.Table, c.Name, c.Key, f.PrimaryKey)
	}
}
