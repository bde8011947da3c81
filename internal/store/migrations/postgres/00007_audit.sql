-- +goose Up
-- Who did what: one chain of entries per organization, each with the hash of the one before it. What belongs to no organization is
-- in the chain of audit.Platform, so that there is no reference to orgs.
CREATE TABLE audit_entries (
  org_id uuid NOT NULL,
  position bigint NOT NULL,
  id uuid NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid,
  action text NOT NULL,
  target_id text NOT NULL,
  address text NOT NULL,
  request_id text NOT NULL,
  details text NOT NULL,
  created_at bigint NOT NULL,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (org_id, position),
  UNIQUE (org_id, id)
);
CREATE INDEX audit_by_action ON audit_entries (org_id, action, position);
CREATE INDEX audit_by_actor ON audit_entries (org_id, actor_id, position);
CREATE INDEX audit_by_target ON audit_entries (org_id, target_id, position);

-- The end of each chain; the last row that a transaction locks.
CREATE TABLE audit_heads (
  org_id uuid NOT NULL PRIMARY KEY,
  position bigint NOT NULL,
  hash bytea NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit entries are append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_append_only BEFORE UPDATE OR TRUNCATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- +goose Down
DROP TABLE audit_heads;
DROP TABLE audit_entries;
DROP FUNCTION refuse_audit_change;
