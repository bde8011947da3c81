-- +goose Up
-- The person who made an API key, or who made the key that it was made with: an author of what it writes. NULL where the audit log no longer
-- says, and for keys that were made with another one before this.
ALTER TABLE api_keys ADD COLUMN created_by uuid REFERENCES users (id);
UPDATE api_keys SET created_by = (SELECT u.id FROM audit_entries a JOIN users u ON u.id = a.actor_id
  WHERE a.org_id = api_keys.org_id AND a.action = 'apiKey.created' AND a.actor_kind = 'USER' AND a.target_id = 'key_' || replace(api_keys.id::text, '-', ''));

-- +goose Down
ALTER TABLE api_keys DROP COLUMN created_by;
