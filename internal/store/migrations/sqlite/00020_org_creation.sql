-- +goose Up
-- Who created an organization, for the limit per person; NULL for the first one, and where the audit log no longer says.
ALTER TABLE orgs ADD COLUMN created_by BLOB REFERENCES users (id);
UPDATE orgs SET created_by = (SELECT u.id FROM audit_entries a JOIN users u ON u.id = a.actor_id
  WHERE a.org_id = orgs.id AND a.action = 'org.created' AND a.actor_kind = 'USER');
CREATE INDEX orgs_by_creator ON orgs (created_by) WHERE created_by IS NOT NULL;

-- Whether the provider keys of the server's environment serve an organization: 1 is yes, NULL is no. Organizations that exist had them.
ALTER TABLE org_loads ADD COLUMN environment_keys INTEGER CHECK (environment_keys BETWEEN 0 AND 1);
INSERT INTO org_loads (org_id) SELECT id FROM orgs WHERE true ON CONFLICT (org_id) DO NOTHING;
UPDATE org_loads SET environment_keys = 1, limits_changed_at = max(limits_changed_at, 1);

-- +goose Down
ALTER TABLE org_loads DROP COLUMN environment_keys;
DROP INDEX orgs_by_creator;
ALTER TABLE orgs DROP COLUMN created_by;
