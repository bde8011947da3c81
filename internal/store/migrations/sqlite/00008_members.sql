-- +goose Up
-- Who was invited. A token is stored as its hash only.
CREATE TABLE invitations (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL,
  role TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  accepted_at INTEGER,
  revoked_at INTEGER,
  PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;
-- One pending invitation per organization and e-mail.
CREATE UNIQUE INDEX invitations_pending ON invitations (org_id, email_key) WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Whether an owner is the last one must not take a look at all members.
CREATE INDEX memberships_owners ON memberships (org_id, id) WHERE role = 'OWNER';

-- +goose Down
DROP INDEX memberships_owners;
DROP TABLE invitations;
