-- +goose Up
-- Who did what: one chain of entries per organization, each with the hash of the one before it. What belongs to no organization is
-- in the chain of audit.Platform, so that there is no reference to orgs.
CREATE TABLE audit_entries (
  org_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  id BLOB NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id BLOB,
  action TEXT NOT NULL,
  target_id TEXT NOT NULL,
  address TEXT NOT NULL,
  request_id TEXT NOT NULL,
  details TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (org_id, position),
  UNIQUE (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_action ON audit_entries (org_id, action, position);
CREATE INDEX audit_by_actor ON audit_entries (org_id, actor_id, position);
CREATE INDEX audit_by_target ON audit_entries (org_id, target_id, position);

-- The end of each chain; the last row that a transaction locks.
CREATE TABLE audit_heads (
  org_id BLOB NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit_entries
BEGIN
  SELECT RAISE(ABORT, 'audit entries are append-only');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit_heads;
DROP TABLE audit_entries;
