-- +goose Up
-- Random secrets of organizations, one per purpose, sealed under the master key.
CREATE TABLE org_secrets (
  org_id uuid NOT NULL REFERENCES orgs (id),
  name text NOT NULL,
  sealed bytea NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, name)
);

-- +goose Down
DROP TABLE org_secrets;
