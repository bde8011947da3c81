-- +goose Up
-- The one link by which a user may set a new password: a new one takes the place of the old. The token itself is stored nowhere.
CREATE TABLE password_resets (
  user_id BLOB NOT NULL PRIMARY KEY REFERENCES users (id),
  hash BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The list of one's own sign-ins, and their common end when the password changes.
CREATE INDEX sign_ins_live ON sign_ins (user_id, last_used_at, id) WHERE revoked_at IS NULL;

-- +goose Down
DROP INDEX sign_ins_live;
DROP TABLE password_resets;
