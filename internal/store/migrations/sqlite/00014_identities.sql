-- +goose Up
-- Who signs in with OpenID Connect: the subject of an issuer is one user, who has one subject there.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject),
  UNIQUE (user_id, issuer)
) STRICT, WITHOUT ROWID;

-- The states of sign-ins that were finished, as hashes, until nobody could finish them again anyway.
CREATE TABLE spent_states (
  hash BLOB NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_states_expired ON spent_states (expires_at);

-- +goose Down
DROP TABLE spent_states;
DROP TABLE identities;
