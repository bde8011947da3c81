-- +goose Up
-- Random secrets of organizations, one per purpose, sealed under the master key.
CREATE TABLE org_secrets (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  name TEXT NOT NULL,
  sealed BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, name)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE org_secrets;
