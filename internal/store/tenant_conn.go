package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ostler-dev/ostler/internal/models"
)

// setOrg tells PostgreSQL's policies whose rows may be seen, until the transaction ends. The role is set here, too, although connections
// begin with it: one that a pooler hands out may have begun without, and then work as a user who sees everything.
const setOrg = "SELECT set_config('role', '" + appRole + "', true), set_config('app.org_id', $1, true)"

type orgKey struct{}

func withOrg(ctx context.Context, org models.OrgID) context.Context {
	return context.WithValue(ctx, orgKey{}, org)
}

// orgOf returns the organization of a context as the policies compare it; empty, which no row belongs to, for none.
func orgOf(ctx context.Context) string {
	org, ok := ctx.Value(orgKey{}).(models.OrgID)
	if !ok {
		return ""
	}
	return uuidText(org)
}

func uuidText(org models.OrgID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", org[:4], org[4:6], org[6:8], org[8:10], org[10:])
}

// openTenants returns connections of a pool that see the rows of the organization in the context, and none without one. The
// organization is set in the transaction of each statement, never in the session: a pooler may give the session to somebody else.
func openTenants(pool *pgxpool.Pool) *sql.DB {
	db := sql.OpenDB(tenantConnector{stdlib.GetPoolConnector(pool)})
	db.SetMaxIdleConns(0) // the pool keeps them
	return db
}

type tenantConnector struct{ driver.Connector }

func (c tenantConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // the driver's own
	}
	own, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection of PostgreSQL is a %T", conn)
	}
	return &tenantConn{Conn: own}, nil
}

// tenantConn wraps a statement that is in no transaction into one of its own.
type tenantConn struct {
	*stdlib.Conn

	within bool // a transaction
}

func (c *tenantConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err //nolint:wrapcheck // the driver's own
	}
	if _, err := c.Conn.Conn().Exec(ctx, setOrg, orgOf(ctx)); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	c.within = true
	return &tenantTx{Tx: tx, conn: c}, nil
}

type tenantTx struct {
	driver.Tx

	conn *tenantConn
}

func (t *tenantTx) Commit() error {
	t.conn.within = false
	return t.Tx.Commit() //nolint:wrapcheck // the driver's own
}

func (t *tenantTx) Rollback() error {
	t.conn.within = false
	return t.Tx.Rollback() //nolint:wrapcheck // the driver's own
}

func (c *tenantConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.within {
		return c.Conn.ExecContext(ctx, query, args) //nolint:wrapcheck // the driver's own
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	res, err := c.Conn.ExecContext(ctx, query, args)
	if err := errors.Join(err, c.end(ctx, err == nil)); err != nil {
		return nil, err
	}
	return res, nil
}

func (c *tenantConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.within {
		return c.Conn.QueryContext(ctx, query, args) //nolint:wrapcheck // the driver's own
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	found, err := c.Conn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, errors.Join(err, c.end(ctx, false))
	}
	rows, ok := found.(*stdlib.Rows)
	if !ok {
		return nil, errors.Join(fmt.Errorf("rows of PostgreSQL are a %T", found), found.Close(), c.end(ctx, false))
	}
	return &tenantRows{Rows: rows, end: func() error { return c.end(ctx, true) }}, nil
}

// tenantRows end the transaction of their statement.
type tenantRows struct {
	*stdlib.Rows

	end func() error
}

func (r *tenantRows) Close() error { return errors.Join(r.Rows.Close(), r.end()) }

// open begins a transaction in one round trip.
func (c *tenantConn) open(ctx context.Context) error {
	// The text of an id is hex digits and hyphens, or empty.
	begin := "BEGIN; " + strings.Replace(setOrg, "$1", "'"+orgOf(ctx)+"'", 1)
	if _, err := c.Conn.Conn().PgConn().Exec(ctx, begin).ReadAll(); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	return nil
}

// endGrace is how long the end of a transaction may take whose caller has gone.
const endGrace = 5 * time.Second

func (c *tenantConn) end(ctx context.Context, good bool) error {
	statement := "ROLLBACK"
	if good {
		statement = "COMMIT"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	if c.Conn.Conn().IsClosed() {
		return nil // the server has ended it
	}
	if _, err := c.Conn.Conn().PgConn().Exec(ctx, statement).ReadAll(); err != nil {
		return fmt.Errorf("end a transaction: %w", err)
	}
	return nil
}
