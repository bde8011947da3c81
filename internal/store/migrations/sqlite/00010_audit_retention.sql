-- +goose Up
-- Times of entries grow with their positions, but for clocks that were set: by this the bounds of a time are turned into positions.
CREATE INDEX audit_by_time ON audit_entries (org_id, created_at, position);

-- Where a chain begins, when retention has removed the entries up to a position: the hash of the last one of them, signed with a
-- secret of the master key that key_id tells.
CREATE TABLE audit_anchors (
  org_id BLOB NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  hash BLOB NOT NULL,
  key_id TEXT NOT NULL,
  signature BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_anchors_by_key ON audit_anchors (key_id, org_id);

-- Entries go only up to their anchor, so that nobody removes others by accident.
-- +goose StatementBegin
CREATE TRIGGER audit_removal BEFORE DELETE ON audit_entries
WHEN OLD.position > coalesce((SELECT a.position FROM audit_anchors a WHERE a.org_id = OLD.org_id), 0)
BEGIN
  SELECT RAISE(ABORT, 'audit entries after the anchor of their chain can not be removed');
END;
-- +goose StatementEnd

-- An anchor moves on, and never back.
-- +goose StatementBegin
CREATE TRIGGER audit_anchor_moves_on BEFORE UPDATE ON audit_anchors
WHEN NEW.org_id <> OLD.org_id OR NEW.position < OLD.position
BEGIN
  SELECT RAISE(ABORT, 'the anchor of an audit chain moves on only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_anchor_stays BEFORE DELETE ON audit_anchors
BEGIN
  SELECT RAISE(ABORT, 'the anchor of an audit chain moves on only');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER audit_removal;
DROP TABLE audit_anchors;
DROP INDEX audit_by_time;
