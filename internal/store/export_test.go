package store

import "github.com/pressly/goose/v3"

// Migrations shows tests what goes up and down.
func (db *DB) Migrations() (*goose.Provider, func(), error) { return db.provider() }
