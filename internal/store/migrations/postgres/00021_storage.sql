-- +goose Up
-- Who invited somebody: an invitation is good only as long as they may invite. NULL for older ones.
ALTER TABLE invitations ADD COLUMN invited_by_kind text;
ALTER TABLE invitations ADD COLUMN invited_by uuid;

-- How many bytes an organization has stored, each content once: counted by the database when content is inserted, behind the blobs in the
-- order of locks, so that a commit that stores nothing pays nothing.
ALTER TABLE org_loads ADD COLUMN storage_bytes bigint CHECK (storage_bytes >= 0);
CREATE TABLE org_storage (
  org_id uuid NOT NULL PRIMARY KEY REFERENCES orgs (id),
  bytes bigint NOT NULL
);
INSERT INTO org_storage (org_id, bytes) SELECT org_id, sum(size) FROM blobs GROUP BY org_id;
-- +goose StatementBegin
CREATE FUNCTION count_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO org_storage AS s (org_id, bytes) SELECT org_id, sum(size) FROM added GROUP BY org_id ORDER BY org_id
  ON CONFLICT (org_id) DO UPDATE SET bytes = s.bytes + excluded.bytes;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER blobs_are_counted AFTER INSERT ON blobs REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_blobs();

-- +goose Down
DROP TRIGGER blobs_are_counted ON blobs;
DROP FUNCTION count_blobs;
DROP TABLE org_storage;
ALTER TABLE org_loads DROP COLUMN storage_bytes;
ALTER TABLE invitations DROP COLUMN invited_by;
ALTER TABLE invitations DROP COLUMN invited_by_kind;
