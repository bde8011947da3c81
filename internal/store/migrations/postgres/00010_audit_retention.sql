-- +goose Up
-- Times of entries grow with their positions, but for clocks that were set: by this the bounds of a time are turned into positions.
CREATE INDEX audit_by_time ON audit_entries (org_id, created_at, position);

-- Where a chain begins, when retention has removed the entries up to a position: the hash of the last one of them, signed with a
-- secret of the master key that key_id tells.
CREATE TABLE audit_anchors (
  org_id uuid NOT NULL PRIMARY KEY,
  position bigint NOT NULL,
  hash bytea NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX audit_anchors_by_key ON audit_anchors (key_id, org_id);

-- Entries go only up to their anchor, so that nobody removes others by accident.
-- +goose StatementBegin
CREATE FUNCTION refuse_audit_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM gone g LEFT JOIN audit_anchors a ON a.org_id = g.org_id WHERE g.position > coalesce(a.position, 0)) THEN
    RAISE EXCEPTION 'audit entries after the anchor of their chain can not be removed';
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_removal AFTER DELETE ON audit_entries
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_removal();

-- An anchor moves on, and never back.
-- +goose StatementBegin
CREATE FUNCTION refuse_anchor_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.org_id = OLD.org_id AND NEW.position >= OLD.position THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'the anchor of an audit chain moves on only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_anchor_moves_on BEFORE UPDATE OR DELETE ON audit_anchors
  FOR EACH ROW EXECUTE FUNCTION refuse_anchor_change();

-- +goose Down
DROP TRIGGER audit_removal ON audit_entries;
DROP FUNCTION refuse_audit_removal;
DROP TABLE audit_anchors;
DROP FUNCTION refuse_anchor_change;
DROP INDEX audit_by_time;
