-- +goose Up
-- Which tools may pay whom, and how much, in 10^-9 usd; and the server that moves the money, whose secret is sealed.
CREATE TABLE payment_policies (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  hosts TEXT NOT NULL,
  rail TEXT NOT NULL,
  url TEXT NOT NULL,
  secret BLOB NOT NULL,
  previous_secret BLOB,
  previous_until INTEGER,
  max_request INTEGER NOT NULL CHECK (max_request > 0),
  max_turn INTEGER NOT NULL CHECK (max_turn > 0),
  max_day INTEGER NOT NULL CHECK (max_day > 0),
  approval_above INTEGER CHECK (approval_above >= 0),
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_policies_list ON payment_policies (org_id, id) WHERE deleted_at IS NULL;

-- What tools have asked to be paid, once for each idempotency key. Sessions and turns are no foreign keys: payments outlive them. due_at is set
-- as long as a payment has not ended; what it holds of budgets meanwhile is in lines.
CREATE TABLE payments (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  policy_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  turn_id BLOB NOT NULL,
  wait_id BLOB,
  idempotency_key TEXT NOT NULL,
  capability TEXT NOT NULL,
  tool TEXT NOT NULL,
  host TEXT NOT NULL,
  purpose TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount > 0),
  paid INTEGER,
  status TEXT NOT NULL,
  day INTEGER NOT NULL,
  lines TEXT,
  reference TEXT,
  error TEXT,
  attempts INTEGER NOT NULL,
  due_at INTEGER,
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, policy_id) REFERENCES payment_policies (org_id, id),
  CHECK ((due_at IS NULL) = (status IN ('PAID', 'REFUSED')))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX payments_once ON payments (org_id, idempotency_key);
CREATE INDEX payments_by_turn ON payments (org_id, turn_id);
CREATE INDEX payments_open_by_policy ON payments (org_id, policy_id) WHERE due_at IS NOT NULL;
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;
-- The last one, as the planner takes the newest of those that cost the same: all do while there are few payments.
CREATE INDEX payments_open ON payments (org_id, session_id) WHERE due_at IS NOT NULL;

-- What each policy has paid on a day, in days since 1970 (UTC), what is about to be paid included.
CREATE TABLE payment_days (
  org_id BLOB NOT NULL,
  policy_id BLOB NOT NULL,
  day INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (org_id, policy_id, day),
  FOREIGN KEY (org_id, policy_id) REFERENCES payment_policies (org_id, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE payment_days;
DROP TABLE payments;
DROP TABLE payment_policies;
