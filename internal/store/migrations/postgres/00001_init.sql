-- +goose Up
CREATE TABLE orgs (
  id uuid NOT NULL PRIMARY KEY,
  name text NOT NULL,
  slug text NOT NULL UNIQUE,
  default_harness_id uuid,
  default_model_id uuid,
  created_at bigint NOT NULL
);

CREATE TABLE users (
  id uuid NOT NULL PRIMARY KEY,
  email text NOT NULL,
  email_key text NOT NULL UNIQUE,
  name text NOT NULL,
  password_hash text NOT NULL,
  operator boolean NOT NULL,
  last_org_id uuid REFERENCES orgs (id),
  created_at bigint NOT NULL
);

CREATE TABLE memberships (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id),
  role text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id, org_id);

CREATE TABLE sign_ins (
  id uuid NOT NULL PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id),
  org_id uuid NOT NULL REFERENCES orgs (id),
  transport text NOT NULL,
  address text NOT NULL,
  user_agent text NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX sign_ins_by_user ON sign_ins (user_id, id);

CREATE TABLE refresh_tokens (
  hash bytea NOT NULL PRIMARY KEY,
  sign_in_id uuid NOT NULL REFERENCES sign_ins (id),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  spent_at bigint
);
-- Switching the organization spends what a sign-in has.
CREATE INDEX refresh_tokens_unspent ON refresh_tokens (sign_in_id) WHERE spent_at IS NULL;

CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

CREATE TABLE signing_keys (
  id text NOT NULL PRIMARY KEY,
  public_key bytea NOT NULL,
  private_key bytea NOT NULL,
  created_at bigint NOT NULL,
  retired_at bigint
);

CREATE TABLE master_keys (
  id text NOT NULL PRIMARY KEY,
  sealed bytea NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE providers (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  base_url text,
  credentials bytea,
  lifecycle text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, name)
);

CREATE TABLE models (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  provider_id uuid NOT NULL,
  name text NOT NULL,
  display_name text NOT NULL,
  enabled boolean NOT NULL,
  context_window_tokens bigint,
  max_output_tokens bigint,
  price_input bigint,
  price_output bigint,
  price_cache_read bigint,
  price_cache_write bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, provider_id, name),
  FOREIGN KEY (org_id, provider_id) REFERENCES providers (org_id, id)
);
CREATE INDEX models_by_provider ON models (org_id, provider_id, id);

CREATE TABLE harnesses (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  name text NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  display_name text NOT NULL,
  description text,
  parent_id uuid,
  system_prompt text,
  capabilities json NOT NULL,
  default_model_id uuid,
  max_iterations bigint,
  lifecycle text NOT NULL,
  built_in boolean NOT NULL,
  revision bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, name),
  FOREIGN KEY (org_id, parent_id) REFERENCES harnesses (org_id, id),
  FOREIGN KEY (org_id, default_model_id) REFERENCES models (org_id, id)
);
CREATE INDEX harnesses_active ON harnesses (org_id, id) WHERE lifecycle = 'ACTIVE';
CREATE INDEX harnesses_by_name ON harnesses (org_id, name_key, id);
-- Refreshed at start, across organizations.
CREATE INDEX harnesses_built_in ON harnesses (org_id, id) WHERE built_in;

CREATE TABLE agents (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  name text NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  display_name text NOT NULL,
  description text,
  harness_id uuid,
  system_prompt text NOT NULL,
  capabilities json NOT NULL,
  default_model_id uuid,
  max_iterations bigint,
  tags json NOT NULL,
  lifecycle text NOT NULL,
  revision bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, name),
  FOREIGN KEY (org_id, harness_id) REFERENCES harnesses (org_id, id),
  FOREIGN KEY (org_id, default_model_id) REFERENCES models (org_id, id)
);
CREATE INDEX agents_active ON agents (org_id, id) WHERE lifecycle = 'ACTIVE';
CREATE INDEX agents_by_name ON agents (org_id, name_key, id);

-- Rows of sessions, turns and effects change soon after they were written. With room beside them the new version needs no new
-- entries in the indexes.
CREATE TABLE sessions (
  org_id uuid NOT NULL REFERENCES orgs (id),
  id uuid NOT NULL,
  title text,
  harness_id uuid NOT NULL,
  agent_id uuid,
  model_id uuid,
  tags json NOT NULL,
  locale text,
  customer_key text,
  created_by_kind text NOT NULL,
  created_by_id uuid REFERENCES users (id),
  owner_id uuid REFERENCES users (id),
  created_at bigint NOT NULL,
  last_sequence bigint NOT NULL,
  input_sequence bigint NOT NULL,
  status text NOT NULL,
  current_turn_id uuid,
  queued_turns bigint NOT NULL,
  file_bytes bigint NOT NULL,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cache_read_tokens bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  reasoning_tokens bigint NOT NULL DEFAULT 0,
  cost_nanos bigint NOT NULL DEFAULT 0,
  unpriced boolean NOT NULL DEFAULT false,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, harness_id) REFERENCES harnesses (org_id, id),
  FOREIGN KEY (org_id, agent_id) REFERENCES agents (org_id, id),
  FOREIGN KEY (org_id, model_id) REFERENCES models (org_id, id)
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_agent ON sessions (org_id, agent_id, id);
CREATE INDEX sessions_by_harness ON sessions (org_id, harness_id, id);
CREATE INDEX sessions_by_status ON sessions (org_id, status, id);
CREATE INDEX sessions_by_customer ON sessions (org_id, customer_key, id) WHERE customer_key IS NOT NULL;

CREATE TABLE session_tags (
  org_id uuid NOT NULL,
  tag text NOT NULL,
  session_id uuid NOT NULL,
  PRIMARY KEY (org_id, tag, session_id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
);
CREATE INDEX session_tags_by_session ON session_tags (org_id, session_id);

CREATE TABLE turns (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  input_message_id uuid NOT NULL,
  model_id uuid,
  max_tokens bigint,
  queued_at bigint NOT NULL,
  queue_position bigint NOT NULL,
  status text NOT NULL,
  ready_at bigint,
  runner_id uuid,
  lease_epoch bigint NOT NULL,
  takeovers bigint NOT NULL,
  recoveries bigint NOT NULL,
  phase text NOT NULL,
  iteration bigint NOT NULL,
  tool_calls bigint NOT NULL,
  pending_calls bigint NOT NULL,
  model_calls bigint NOT NULL,
  consumed_through bigint NOT NULL,
  output_message_id uuid,
  final_message_id uuid,
  answer_preview text,
  stop_reason text,
  error json,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cache_read_tokens bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  reasoning_tokens bigint NOT NULL DEFAULT 0,
  cost_nanos bigint NOT NULL DEFAULT 0,
  unpriced boolean NOT NULL DEFAULT false,
  harness_revision bigint,
  agent_revision bigint,
  started_at bigint,
  first_token_at bigint,
  finished_at bigint,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id),
  FOREIGN KEY (org_id, model_id) REFERENCES models (org_id, id)
) WITH (fillfactor = 60);
-- One active turn per session, whatever the code does.
CREATE UNIQUE INDEX turns_one_active ON turns (org_id, session_id) WHERE status IN ('RUNNING', 'WAITING');
CREATE INDEX turns_by_session ON turns (org_id, session_id, id);
CREATE INDEX turns_queued ON turns (org_id, session_id, queue_position) WHERE status = 'QUEUED';
-- The queue that runners claim from, and what a dead runner leaves: both cross organizations.
CREATE INDEX turns_ready ON turns (ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX turns_held ON turns (runner_id) WHERE runner_id IS NOT NULL;

CREATE TABLE messages (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  turn_id uuid NOT NULL,
  role text NOT NULL,
  content json NOT NULL,
  sequence bigint NOT NULL,
  position bigint,
  ordinal bigint NOT NULL,
  error json,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, turn_id) REFERENCES turns (org_id, id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
);
CREATE UNIQUE INDEX messages_by_sequence ON messages (org_id, session_id, sequence);
CREATE INDEX messages_by_position ON messages (org_id, session_id, position, ordinal) WHERE position IS NOT NULL;
CREATE INDEX messages_inbox ON messages (org_id, turn_id, sequence) WHERE position IS NULL;

CREATE TABLE events (
  org_id uuid NOT NULL,
  session_id uuid NOT NULL,
  sequence bigint NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  turn_id uuid,
  data json NOT NULL,
  occurred_at bigint NOT NULL,
  PRIMARY KEY (org_id, session_id, sequence),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
);

CREATE TABLE effects (
  org_id uuid NOT NULL,
  scope_id uuid NOT NULL,
  replay_key text NOT NULL,
  session_id uuid NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  input_hash bytea NOT NULL,
  request json NOT NULL,
  outcome json,
  epoch bigint NOT NULL,
  attempt bigint NOT NULL,
  ordinal bigint NOT NULL,
  started_at bigint,
  settled_at bigint,
  PRIMARY KEY (org_id, scope_id, replay_key)
) WITH (fillfactor = 50);

CREATE TABLE checkpoints (
  org_id uuid NOT NULL,
  turn_id uuid NOT NULL,
  session_id uuid NOT NULL,
  message_id uuid NOT NULL,
  epoch bigint NOT NULL,
  attempt bigint NOT NULL,
  text text NOT NULL,
  thinking text NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, turn_id),
  FOREIGN KEY (org_id, turn_id) REFERENCES turns (org_id, id)
);

CREATE TABLE blobs (
  org_id uuid NOT NULL REFERENCES orgs (id),
  hash bytea NOT NULL,
  size bigint NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (org_id, hash)
);

CREATE TABLE session_files (
  org_id uuid NOT NULL,
  session_id uuid NOT NULL,
  path text COLLATE "C" NOT NULL,
  directory boolean NOT NULL,
  readonly boolean NOT NULL,
  size bigint NOT NULL,
  hash bytea,
  encoding text NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, session_id, path),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id),
  FOREIGN KEY (org_id, hash) REFERENCES blobs (org_id, hash)
);

CREATE TABLE session_todos (
  org_id uuid NOT NULL,
  session_id uuid NOT NULL,
  items json NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, session_id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
);

CREATE TABLE idempotency_keys (
  org_id uuid NOT NULL REFERENCES orgs (id),
  operation text NOT NULL,
  key text NOT NULL,
  input_hash bytea NOT NULL,
  result json NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (org_id, operation, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

CREATE TABLE runners (
  id uuid NOT NULL PRIMARY KEY,
  host text NOT NULL,
  started_at bigint NOT NULL,
  beat bigint NOT NULL
);

-- The log is append-only: the database itself refuses anything else.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE runners;
DROP TABLE idempotency_keys;
DROP TABLE session_todos;
DROP TABLE session_files;
DROP TABLE blobs;
DROP TABLE checkpoints;
DROP TABLE effects;
DROP TABLE events;
DROP TABLE messages;
DROP TABLE turns;
DROP TABLE session_tags;
DROP TABLE sessions;
DROP TABLE agents;
DROP TABLE harnesses;
DROP TABLE models;
DROP TABLE providers;
DROP TABLE master_keys;
DROP TABLE signing_keys;
DROP TABLE refresh_tokens;
DROP TABLE sign_ins;
DROP TABLE memberships;
DROP TABLE users;
DROP TABLE orgs;
DROP FUNCTION refuse_change;
