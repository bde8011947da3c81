-- +goose Up
-- What subjects may take, in the smallest unit of the currency. Of subject_id and customer_key one is set. Rows are read and written under
-- their lock; spent, credits and reserved stand as of the last write, in the period that began at period_started_at.
CREATE TABLE budgets (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  subject text NOT NULL,
  subject_id uuid,
  customer_key text,
  currency text NOT NULL,
  limit_amount bigint NOT NULL,
  soft_limit bigint,
  period_kind text,
  period_unit text,
  period_seconds bigint,
  timezone text,
  created_at bigint NOT NULL,
  disabled_at bigint,
  period_started_at bigint NOT NULL,
  period_ends_at bigint,
  spent bigint NOT NULL DEFAULT 0,
  credits bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  buckets json,
  warned_at bigint,
  soft_passed_at bigint,
  exhausted_at bigint,
  contended boolean NOT NULL DEFAULT false,
  kept bigint NOT NULL DEFAULT 0 CHECK (kept >= 0),
  kept_for uuid,
  kept_until bigint,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  CHECK ((subject_id IS NULL) <> (customer_key IS NULL))
);
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
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  kind text NOT NULL,
  occurred_at bigint NOT NULL,
  session_id uuid,
  turn_id uuid,
  user_id uuid,
  agent_id uuid,
  harness_id uuid,
  customer_key text,
  model_id uuid,
  model text NOT NULL,
  tool text NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  unpriced boolean NOT NULL,
  provider_cost boolean NOT NULL,
  estimated boolean NOT NULL,
  duration_ms bigint NOT NULL,
  measures json,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX usage_journal_by_time ON usage_journal (org_id, occurred_at, id);

-- Postings, never changed: a debit is positive, a credit negative. The id follows from the fact and the budget, so that there is one of each.
CREATE TABLE ledger_entries (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  budget_id uuid NOT NULL,
  journal_id uuid NOT NULL,
  source text NOT NULL,
  amount bigint NOT NULL,
  overrun bigint NOT NULL,
  session_id uuid,
  turn_id uuid,
  description text,
  period_started_at bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id),
  FOREIGN KEY (org_id, journal_id) REFERENCES usage_journal (org_id, id)
);
CREATE INDEX ledger_entries_list ON ledger_entries (org_id, budget_id, created_at, id);

-- Sums of the journal by hours (UTC), kept by the transactions that write it. What there was none of is the zero id, or empty. Those by
-- sessions name the users and customers of the sessions, too: sums outlive what they are about.
CREATE TABLE usage_hours (
  org_id uuid NOT NULL REFERENCES orgs (id),
  hour bigint NOT NULL,
  model_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  user_id uuid NOT NULL,
  customer_key text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  unpriced_calls bigint NOT NULL,
  model_calls bigint NOT NULL,
  tool_calls bigint NOT NULL,
  turns bigint NOT NULL,
  PRIMARY KEY (org_id, hour, model_id, agent_id, user_id, customer_key, tool)
);
CREATE TABLE session_usage_hours (
  org_id uuid NOT NULL REFERENCES orgs (id),
  hour bigint NOT NULL,
  session_id uuid NOT NULL,
  model_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  user_id uuid NOT NULL,
  customer_key text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  unpriced_calls bigint NOT NULL,
  model_calls bigint NOT NULL,
  tool_calls bigint NOT NULL,
  turns bigint NOT NULL,
  PRIMARY KEY (org_id, hour, session_id, model_id, agent_id, user_id, customer_key, tool)
);

-- What a turn holds of budgets, and which turns hold some.
ALTER TABLE turns ADD COLUMN reservation json;
CREATE INDEX turns_reserved ON turns (org_id, id) WHERE reservation IS NOT NULL;
-- When somebody has let the session go on past soft limits.
ALTER TABLE sessions ADD COLUMN resumed_at bigint;
-- Models without a price may run under a budget in dollars.
ALTER TABLE orgs ADD COLUMN allow_unpriced boolean NOT NULL DEFAULT false;
-- Turns that wait for budgets, oldest first.
CREATE INDEX waits_for_budgets ON waits (org_id, id) WHERE kind = 'BUDGET' AND state = 'OPEN';
-- +goose StatementBegin
CREATE FUNCTION refuse_posting_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON usage_journal
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_posting_change();
CREATE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_posting_change();

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
DROP FUNCTION refuse_posting_change;
