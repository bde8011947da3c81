-- +goose Up
-- What subjects may take, in the smallest unit of the currency. Of subject_id and customer_key one is set. Rows are read and written under
-- their lock; spent, credits and reserved stand as of the last write, in the period that began at period_started_at.
CREATE TABLE budgets (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  subject TEXT NOT NULL,
  subject_id BLOB,
  customer_key TEXT,
  currency TEXT NOT NULL,
  limit_amount INTEGER NOT NULL,
  soft_limit INTEGER,
  period_kind TEXT,
  period_unit TEXT,
  period_seconds INTEGER,
  timezone TEXT,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  period_started_at INTEGER NOT NULL,
  period_ends_at INTEGER,
  spent INTEGER NOT NULL DEFAULT 0,
  credits INTEGER NOT NULL DEFAULT 0,
  reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  buckets TEXT,
  warned_at INTEGER,
  soft_passed_at INTEGER,
  exhausted_at INTEGER,
  contended INTEGER NOT NULL DEFAULT 0,
  kept INTEGER NOT NULL DEFAULT 0 CHECK (kept >= 0),
  kept_for BLOB,
  kept_until INTEGER,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  CHECK ((subject_id IS NULL) <> (customer_key IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX budgets_by_subject ON budgets (org_id, subject_id, id) WHERE disabled_at IS NULL AND subject_id IS NOT NULL;
CREATE INDEX budgets_by_customer ON budgets (org_id, customer_key, id) WHERE disabled_at IS NULL AND customer_key IS NOT NULL;
CREATE INDEX budgets_list ON budgets (org_id, created_at, id);
CREATE INDEX budgets_list_subject ON budgets (org_id, subject, created_at, id);
CREATE INDEX budgets_list_id ON budgets (org_id, subject_id, created_at, id) WHERE subject_id IS NOT NULL;
CREATE INDEX budgets_list_customer ON budgets (org_id, customer_key, created_at, id) WHERE customer_key IS NOT NULL;
CREATE INDEX budgets_contended ON budgets (org_id, id) WHERE contended;

-- Facts about what was metered, never changed. The id follows from what the fact is about, so that it counts once. Sessions and turns are no
-- foreign keys: facts outlive them.
CREATE TABLE usage_journal (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  kind TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  session_id BLOB,
  turn_id BLOB,
  user_id BLOB,
  agent_id BLOB,
  harness_id BLOB,
  customer_key TEXT,
  model_id BLOB,
  model TEXT NOT NULL,
  tool TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  unpriced INTEGER NOT NULL,
  provider_cost INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  measures TEXT,
  PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_journal_by_time ON usage_journal (org_id, occurred_at, id);

-- Postings, never changed: a debit is positive, a credit negative. The id follows from the fact and the budget, so that there is one of each.
CREATE TABLE ledger_entries (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  budget_id BLOB NOT NULL,
  journal_id BLOB NOT NULL,
  source TEXT NOT NULL,
  amount INTEGER NOT NULL,
  overrun INTEGER NOT NULL,
  session_id BLOB,
  turn_id BLOB,
  description TEXT,
  period_started_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id),
  FOREIGN KEY (org_id, journal_id) REFERENCES usage_journal (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_entries_list ON ledger_entries (org_id, budget_id, created_at, id);

-- Sums of the journal by hours (UTC), kept by the transactions that write it. What there was none of is the zero id, or empty. Those by
-- sessions name the users and customers of the sessions, too: sums outlive what they are about.
CREATE TABLE usage_hours (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  hour INTEGER NOT NULL,
  model_id BLOB NOT NULL,
  agent_id BLOB NOT NULL,
  user_id BLOB NOT NULL,
  customer_key TEXT NOT NULL,
  tool TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  unpriced_calls INTEGER NOT NULL,
  model_calls INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  PRIMARY KEY (org_id, hour, model_id, agent_id, user_id, customer_key, tool)
) STRICT, WITHOUT ROWID;
CREATE TABLE session_usage_hours (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  hour INTEGER NOT NULL,
  session_id BLOB NOT NULL,
  model_id BLOB NOT NULL,
  agent_id BLOB NOT NULL,
  user_id BLOB NOT NULL,
  customer_key TEXT NOT NULL,
  tool TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  unpriced_calls INTEGER NOT NULL,
  model_calls INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  PRIMARY KEY (org_id, hour, session_id, model_id, agent_id, user_id, customer_key, tool)
) STRICT, WITHOUT ROWID;

-- What a turn holds of budgets, and which turns hold some.
ALTER TABLE turns ADD COLUMN reservation TEXT;
CREATE INDEX turns_reserved ON turns (org_id, id) WHERE reservation IS NOT NULL;
-- When somebody has let the session go on past soft limits.
ALTER TABLE sessions ADD COLUMN resumed_at INTEGER;
-- Models without a price may run under a budget in dollars.
ALTER TABLE orgs ADD COLUMN allow_unpriced INTEGER NOT NULL DEFAULT 0;
-- Turns that wait for budgets, oldest first.
CREATE INDEX waits_for_budgets ON waits (org_id, id) WHERE kind = 'BUDGET' AND state = 'OPEN';
-- +goose StatementBegin
CREATE TRIGGER usage_journal_no_update BEFORE UPDATE ON usage_journal
BEGIN
  SELECT RAISE(ABORT, 'usage_journal is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER usage_journal_no_delete BEFORE DELETE ON usage_journal
BEGIN
  SELECT RAISE(ABORT, 'usage_journal is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger_entries
BEGIN
  SELECT RAISE(ABORT, 'ledger_entries is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger_entries
BEGIN
  SELECT RAISE(ABORT, 'ledger_entries is append-only');
END;
-- +goose StatementEnd

-- +goose Down
DROP INDEX waits_for_budgets;
ALTER TABLE orgs DROP COLUMN allow_unpriced;
ALTER TABLE sessions DROP COLUMN resumed_at;
DROP INDEX turns_reserved;
ALTER TABLE turns DROP COLUMN reservation;
DROP TABLE session_usage_hours;
DROP TABLE usage_hours;
DROP TABLE ledger_entries;
DROP TABLE usage_journal;
DROP TABLE budgets;
