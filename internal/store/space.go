package store

import (
	"errors"
	"fmt"
)

// ErrDiskFull means that the disk of the database is too full to write to.
var ErrDiskFull = errors.New("the disk is full")

// reservedBytes is what new work leaves free on the disk of SQLite's file, so that turns that have begun can still be committed.
const reservedBytes = 16 << 20

// Writable returns an error that wraps ErrDiskFull while less than 16 MiB are free on the disk of SQLite's file. A write would wait
// for room until its deadline. PostgreSQL refuses such writes itself, at once.
func (db *DB) Writable() error {
	if db.dir == "" {
		return nil
	}
	return leaves(db.dir, reservedBytes)
}

func leaves(dir string, least uint64) error {
	free, err := freeBytes(dir)
	if err == nil && free < least {
		err = fmt.Errorf("%w: %s has %d KiB left, and %d KiB are needed", ErrDiskFull, dir, free>>10, least>>10)
	}
	return err
}
