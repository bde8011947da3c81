-- +goose Up
-- Who is told of what happens in an organization. position is how far its feed was turned into deliveries; due_at is when the next
-- delivery is due, NULL for none; leased_until keeps others from sending meanwhile.
CREATE TABLE webhooks (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  url text NOT NULL,
  kinds json NOT NULL,
  enabled boolean NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_until bigint,
  position bigint NOT NULL,
  due_at bigint,
  leased_until bigint,
  failing_since bigint,
  failed_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  deleted_at bigint,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX webhooks_enabled ON webhooks (org_id, id) WHERE enabled;
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE enabled AND due_at IS NOT NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;

-- What is told, or was: the body is the same in each attempt. next_attempt_at is NULL where no attempt is to come.
CREATE TABLE webhook_deliveries (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  session_id uuid NOT NULL,
  kind text NOT NULL,
  body text NOT NULL,
  attempts bigint NOT NULL,
  status bigint,
  error text,
  next_attempt_at bigint,
  delivered_at bigint,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, webhook_id) REFERENCES webhooks (org_id, id)
);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (org_id, webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (org_id, webhook_id, next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
