-- +goose Up
-- Which tools may pay whom, and how much, in 10^-9 usd; and the server that moves the money, whose secret is sealed.
CREATE TABLE payment_policies (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  name text NOT NULL,
  capabilities json NOT NULL,
  hosts json NOT NULL,
  rail text NOT NULL,
  url text NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_until bigint,
  max_request bigint NOT NULL CHECK (max_request > 0),
  max_turn bigint NOT NULL CHECK (max_turn > 0),
  max_day bigint NOT NULL CHECK (max_day > 0),
  approval_above bigint CHECK (approval_above >= 0),
  enabled boolean NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  deleted_at bigint,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX payment_policies_list ON payment_policies (org_id, id) WHERE deleted_at IS NULL;

-- What tools have asked to be paid, once for each idempotency key. Sessions and turns are no foreign keys: payments outlive them. due_at is set
-- as long as a payment has not ended; what it holds of budgets meanwhile is in lines.
CREATE TABLE payments (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  policy_id uuid NOT NULL,
  session_id uuid NOT NULL,
  turn_id uuid NOT NULL,
  wait_id uuid,
  idempotency_key text NOT NULL,
  capability text NOT NULL,
  tool text NOT NULL,
  host text NOT NULL,
  purpose text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  paid bigint,
  status text NOT NULL,
  day bigint NOT NULL,
  lines json,
  reference text,
  error text,
  attempts bigint NOT NULL,
  due_at bigint,
  created_at bigint NOT NULL,
  settled_at bigint,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, policy_id) REFERENCES payment_policies (org_id, id),
  CHECK ((due_at IS NULL) = (status IN ('PAID', 'REFUSED')))
);
CREATE UNIQUE INDEX payments_once ON payments (org_id, idempotency_key);
CREATE INDEX payments_by_turn ON payments (org_id, turn_id);
CREATE INDEX payments_open_by_policy ON payments (org_id, policy_id) WHERE due_at IS NOT NULL;
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;
-- The last one, as the planner takes the newest of those that cost the same: all do while there are few payments.
CREATE INDEX payments_open ON payments (org_id, session_id) WHERE due_at IS NOT NULL;

-- What each policy has paid on a day, in days since 1970 (UTC), what is about to be paid included.
CREATE TABLE payment_days (
  org_id uuid NOT NULL,
  policy_id uuid NOT NULL,
  day bigint NOT NULL,
  amount bigint NOT NULL,
  PRIMARY KEY (org_id, policy_id, day),
  FOREIGN KEY (org_id, policy_id) REFERENCES payment_policies (org_id, id)
);

-- +goose Down
DROP TABLE payment_days;
DROP TABLE payments;
DROP TABLE payment_policies;
