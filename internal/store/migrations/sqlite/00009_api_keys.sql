-- +goose Up
-- Keys of programs. A key itself is not kept: it is found by its SHA-256.
CREATE TABLE api_keys (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  permissions TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  revoked_at INTEGER,
  PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;

-- What author_id is an id of; NULL beside one means USER.
ALTER TABLE messages ADD COLUMN author_kind TEXT;

-- A session may be created by a key, which is no user. SQLite can't drop a foreign key, but the column that has it.
ALTER TABLE sessions ADD COLUMN created_by_actor BLOB;
UPDATE sessions SET created_by_actor = created_by_id;
ALTER TABLE sessions DROP COLUMN created_by_id;
ALTER TABLE sessions RENAME COLUMN created_by_actor TO created_by_id;

-- +goose Down
ALTER TABLE sessions ADD COLUMN created_by_user BLOB REFERENCES users (id);
UPDATE sessions SET created_by_user = created_by_id WHERE created_by_kind = 'USER';
ALTER TABLE sessions DROP COLUMN created_by_id;
ALTER TABLE sessions RENAME COLUMN created_by_user TO created_by_id;
UPDATE messages SET author_id = NULL WHERE author_kind <> 'USER';
ALTER TABLE messages DROP COLUMN author_kind;
DROP TABLE api_keys;
