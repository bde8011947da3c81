-- +goose Up
-- The root of an organization, for the limit of descendants: its creator acted in the root, or in a descendant of it. NULL for the first
-- organization and for those that operators create. An existing one gets the oldest root that its creator belongs to.
ALTER TABLE orgs ADD COLUMN root_id uuid REFERENCES orgs (id);
UPDATE orgs SET root_id = (SELECT r.id FROM memberships m JOIN orgs r ON r.id = m.org_id LEFT JOIN users c ON c.id = r.created_by
  WHERE m.user_id = orgs.created_by AND (c.id IS NULL OR c.operator) ORDER BY r.id LIMIT 1)
  WHERE EXISTS (SELECT 1 FROM users u WHERE u.id = orgs.created_by AND NOT u.operator);
CREATE INDEX orgs_by_root ON orgs (root_id) WHERE root_id IS NOT NULL;

-- +goose Down
DROP INDEX orgs_by_root;
ALTER TABLE orgs DROP COLUMN root_id;
