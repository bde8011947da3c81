-- +goose Up
-- Who was invited. A token is stored as its hash only.
CREATE TABLE invitations (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  role text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  accepted_at bigint,
  revoked_at bigint,
  PRIMARY KEY (org_id, id)
);
-- One pending invitation per organization and e-mail.
CREATE UNIQUE INDEX invitations_pending ON invitations (org_id, email_key) WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Whether an owner is the last one must not take a look at all members.
CREATE INDEX memberships_owners ON memberships (org_id, id) WHERE role = 'OWNER';

-- +goose Down
DROP INDEX memberships_owners;
DROP TABLE invitations;
