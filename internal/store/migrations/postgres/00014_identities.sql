-- +goose Up
-- Who signs in with OpenID Connect: the subject of an issuer is one user, who has one subject there.
CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at bigint NOT NULL,
  PRIMARY KEY (issuer, subject),
  UNIQUE (user_id, issuer)
);

-- The states of sign-ins that were finished, as hashes, until nobody could finish them again anyway.
CREATE TABLE spent_states (
  hash bytea NOT NULL PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX spent_states_expired ON spent_states (expires_at);

-- +goose Down
DROP TABLE spent_states;
DROP TABLE identities;
