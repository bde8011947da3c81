-- +goose Up
-- The organization from which one descends, for the limit of descendants: whoever created it acted from there, or from another descendant.
-- NULL for the first one and those of operators. Of those that exist it is the oldest of these that their creator belongs to.
ALTER TABLE orgs ADD COLUMN root_id uuid REFERENCES orgs (id);
UPDATE orgs SET root_id = (SELECT r.id FROM memberships m JOIN orgs r ON r.id = m.org_id LEFT JOIN users c ON c.id = r.created_by
  WHERE m.user_id = orgs.created_by AND (c.id IS NULL OR c.operator) ORDER BY r.id LIMIT 1)
  WHERE EXISTS (SELECT 1 FROM users u WHERE u.id = orgs.created_by AND NOT u.operator);
CREATE INDEX orgs_by_root ON orgs (root_id) WHERE root_id IS NOT NULL;

-- +goose Down
DROP INDEX orgs_by_root;
ALTER TABLE orgs DROP COLUMN root_id;
