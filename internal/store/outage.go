package store

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsOutage reports whether a statement failed because the database was away, had no connection or no room to spare, or because others were
// in the way. That passes, however long it takes, and says nothing about the statement.
func IsOutage(err error) bool {
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT,
			sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
			return true
		}
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if len(pg.Code) != 5 {
			return false
		}
		switch pg.Code[:2] {
		case "08", "25", "40", "53", "55", "57", "58":
			return true
		}
		return false
	}
	// The database has said nothing: the connection is broken, or can't be made.
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return refused || network || pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
