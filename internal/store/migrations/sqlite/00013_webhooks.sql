-- +goose Up
-- Who is told of what happens in an organization. position is how far its feed was turned into deliveries; due_at is when the next
-- delivery is due, NULL for none; leased_until keeps others from sending meanwhile.
CREATE TABLE webhooks (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  url TEXT NOT NULL,
  kinds TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  secret BLOB NOT NULL,
  previous_secret BLOB,
  previous_until INTEGER,
  position INTEGER NOT NULL,
  due_at INTEGER,
  leased_until INTEGER,
  failing_since INTEGER,
  failed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_enabled ON webhooks (org_id, id) WHERE enabled;
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE enabled AND due_at IS NOT NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;

-- What is told, or was: the body is the same in each attempt. next_attempt_at is NULL where no attempt is to come.
CREATE TABLE webhook_deliveries (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  webhook_id BLOB NOT NULL,
  event_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  status INTEGER,
  error TEXT,
  next_attempt_at INTEGER,
  delivered_at INTEGER,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, webhook_id) REFERENCES webhooks (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (org_id, webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (org_id, webhook_id, next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
