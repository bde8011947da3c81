-- +goose Up
-- Who invited somebody: an invitation is good only as long as they may invite. NULL for older ones.
ALTER TABLE invitations ADD COLUMN invited_by_kind TEXT;
ALTER TABLE invitations ADD COLUMN invited_by BLOB;

-- How many bytes an organization has stored, each content once: counted by the database when content is inserted, behind the blobs in the
-- order of locks, so that a commit that stores nothing pays nothing.
ALTER TABLE org_loads ADD COLUMN storage_bytes INTEGER CHECK (storage_bytes >= 0);
CREATE TABLE org_storage (
  org_id BLOB NOT NULL PRIMARY KEY REFERENCES orgs (id),
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO org_storage (org_id, bytes) SELECT org_id, sum(size) FROM blobs GROUP BY org_id;
-- +goose StatementBegin
CREATE TRIGGER blobs_are_counted AFTER INSERT ON blobs
BEGIN
  INSERT INTO org_storage (org_id, bytes) VALUES (NEW.org_id, NEW.size) ON CONFLICT (org_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER blobs_are_counted;
DROP TABLE org_storage;
ALTER TABLE org_loads DROP COLUMN storage_bytes;
ALTER TABLE invitations DROP COLUMN invited_by;
ALTER TABLE invitations DROP COLUMN invited_by_kind;
