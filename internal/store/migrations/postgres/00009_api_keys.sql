-- +goose Up
-- Keys of programs. A key itself is not kept: it is found by its SHA-256.
CREATE TABLE api_keys (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  permissions json NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used_at bigint,
  revoked_at bigint,
  PRIMARY KEY (org_id, id)
);

-- What author_id is an id of; NULL beside one means USER.
ALTER TABLE messages ADD COLUMN author_kind text;

-- A session may be created by a key, which is no user.
ALTER TABLE sessions DROP CONSTRAINT sessions_created_by_id_fkey;

-- +goose Down
UPDATE sessions SET created_by_id = NULL WHERE created_by_kind <> 'USER';
ALTER TABLE sessions ADD CONSTRAINT sessions_created_by_id_fkey FOREIGN KEY (created_by_id) REFERENCES users (id);
UPDATE messages SET author_id = NULL WHERE author_kind <> 'USER';
ALTER TABLE messages DROP COLUMN author_kind;
DROP TABLE api_keys;
