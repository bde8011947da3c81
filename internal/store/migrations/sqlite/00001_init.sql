-- +goose Up
CREATE TABLE orgs (
  id BLOB NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  default_harness_id BLOB,
  default_model_id BLOB,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  id BLOB NOT NULL PRIMARY KEY,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  operator INTEGER NOT NULL,
  last_org_id BLOB REFERENCES orgs (id),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE memberships (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_by_user ON memberships (user_id, org_id);

CREATE TABLE sign_ins (
  id BLOB NOT NULL PRIMARY KEY,
  user_id BLOB NOT NULL REFERENCES users (id),
  org_id BLOB NOT NULL REFERENCES orgs (id),
  transport TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_ins_by_user ON sign_ins (user_id, id);

CREATE TABLE refresh_tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  sign_in_id BLOB NOT NULL REFERENCES sign_ins (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  spent_at INTEGER
) STRICT, WITHOUT ROWID;
-- Switching the organization spends what a sign-in has.
CREATE INDEX refresh_tokens_unspent ON refresh_tokens (sign_in_id) WHERE spent_at IS NULL;

CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

CREATE TABLE signing_keys (
  id TEXT NOT NULL PRIMARY KEY,
  public_key BLOB NOT NULL,
  private_key BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE master_keys (
  id TEXT NOT NULL PRIMARY KEY,
  sealed BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE providers (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  base_url TEXT,
  credentials BLOB,
  lifecycle TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  provider_id BLOB NOT NULL,
  name TEXT NOT NULL,
  display_name TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  context_window_tokens INTEGER,
  max_output_tokens INTEGER,
  price_input INTEGER,
  price_output INTEGER,
  price_cache_read INTEGER,
  price_cache_write INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, provider_id, name),
  FOREIGN KEY (org_id, provider_id) REFERENCES providers (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX models_by_provider ON models (org_id, provider_id, id);

CREATE TABLE harnesses (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  display_name TEXT NOT NULL,
  description TEXT,
  parent_id BLOB,
  system_prompt TEXT,
  capabilities TEXT NOT NULL,
  default_model_id BLOB,
  max_iterations INTEGER,
  lifecycle TEXT NOT NULL,
  built_in INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, name),
  FOREIGN KEY (org_id, parent_id) REFERENCES harnesses (org_id, id),
  FOREIGN KEY (org_id, default_model_id) REFERENCES models (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX harnesses_active ON harnesses (org_id, id) WHERE lifecycle = 'ACTIVE';
CREATE INDEX harnesses_by_name ON harnesses (org_id, name_key, id);
-- Refreshed at start, across organizations.
CREATE INDEX harnesses_built_in ON harnesses (org_id, id) WHERE built_in;

CREATE TABLE agents (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  display_name TEXT NOT NULL,
  description TEXT,
  harness_id BLOB,
  system_prompt TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  default_model_id BLOB,
  max_iterations INTEGER,
  tags TEXT NOT NULL,
  lifecycle TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, name),
  FOREIGN KEY (org_id, harness_id) REFERENCES harnesses (org_id, id),
  FOREIGN KEY (org_id, default_model_id) REFERENCES models (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agents_active ON agents (org_id, id) WHERE lifecycle = 'ACTIVE';
CREATE INDEX agents_by_name ON agents (org_id, name_key, id);

CREATE TABLE sessions (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  id BLOB NOT NULL,
  title TEXT,
  harness_id BLOB NOT NULL,
  agent_id BLOB,
  model_id BLOB,
  tags TEXT NOT NULL,
  locale TEXT,
  customer_key TEXT,
  created_by_kind TEXT NOT NULL,
  created_by_id BLOB REFERENCES users (id),
  owner_id BLOB REFERENCES users (id),
  created_at INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  input_sequence INTEGER NOT NULL,
  status TEXT NOT NULL,
  current_turn_id BLOB,
  queued_turns INTEGER NOT NULL,
  file_bytes INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nanos INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, harness_id) REFERENCES harnesses (org_id, id),
  FOREIGN KEY (org_id, agent_id) REFERENCES agents (org_id, id),
  FOREIGN KEY (org_id, model_id) REFERENCES models (org_id, id)
) STRICT;
CREATE INDEX sessions_by_agent ON sessions (org_id, agent_id, id);
CREATE INDEX sessions_by_harness ON sessions (org_id, harness_id, id);
CREATE INDEX sessions_by_status ON sessions (org_id, status, id);
CREATE INDEX sessions_by_customer ON sessions (org_id, customer_key, id) WHERE customer_key IS NOT NULL;

CREATE TABLE session_tags (
  org_id BLOB NOT NULL,
  tag TEXT NOT NULL,
  session_id BLOB NOT NULL,
  PRIMARY KEY (org_id, tag, session_id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_tags_by_session ON session_tags (org_id, session_id);

CREATE TABLE turns (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  input_message_id BLOB NOT NULL,
  model_id BLOB,
  max_tokens INTEGER,
  queued_at INTEGER NOT NULL,
  queue_position INTEGER NOT NULL,
  status TEXT NOT NULL,
  ready_at INTEGER,
  runner_id BLOB,
  lease_epoch INTEGER NOT NULL,
  takeovers INTEGER NOT NULL,
  recoveries INTEGER NOT NULL,
  phase TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  tool_calls INTEGER NOT NULL,
  pending_calls INTEGER NOT NULL,
  model_calls INTEGER NOT NULL,
  consumed_through INTEGER NOT NULL,
  output_message_id BLOB,
  final_message_id BLOB,
  answer_preview TEXT,
  stop_reason TEXT,
  error TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nanos INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  harness_revision INTEGER,
  agent_revision INTEGER,
  started_at INTEGER,
  first_token_at INTEGER,
  finished_at INTEGER,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id),
  FOREIGN KEY (org_id, model_id) REFERENCES models (org_id, id)
) STRICT;
-- One active turn per session, whatever the code does.
CREATE UNIQUE INDEX turns_one_active ON turns (org_id, session_id) WHERE status IN ('RUNNING', 'WAITING');
CREATE INDEX turns_by_session ON turns (org_id, session_id, id);
CREATE INDEX turns_queued ON turns (org_id, session_id, queue_position) WHERE status = 'QUEUED';
-- The queue that runners claim from, and what a dead runner leaves: both cross organizations.
CREATE INDEX turns_ready ON turns (ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX turns_held ON turns (runner_id) WHERE runner_id IS NOT NULL;

CREATE TABLE messages (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  turn_id BLOB NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  position INTEGER,
  ordinal INTEGER NOT NULL,
  error TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, turn_id) REFERENCES turns (org_id, id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
) STRICT;
CREATE UNIQUE INDEX messages_by_sequence ON messages (org_id, session_id, sequence);
CREATE INDEX messages_by_position ON messages (org_id, session_id, position, ordinal) WHERE position IS NOT NULL;
CREATE INDEX messages_inbox ON messages (org_id, turn_id, sequence) WHERE position IS NULL;

CREATE TABLE events (
  org_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  id BLOB NOT NULL,
  kind TEXT NOT NULL,
  turn_id BLOB,
  data TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id, sequence),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
) STRICT;

CREATE TABLE effects (
  org_id BLOB NOT NULL,
  scope_id BLOB NOT NULL,
  replay_key TEXT NOT NULL,
  session_id BLOB NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  input_hash BLOB NOT NULL,
  request TEXT NOT NULL,
  outcome TEXT,
  epoch INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  started_at INTEGER,
  settled_at INTEGER,
  PRIMARY KEY (org_id, scope_id, replay_key)
) STRICT;

CREATE TABLE checkpoints (
  org_id BLOB NOT NULL,
  turn_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  message_id BLOB NOT NULL,
  epoch INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  text TEXT NOT NULL,
  thinking TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, turn_id),
  FOREIGN KEY (org_id, turn_id) REFERENCES turns (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  hash BLOB NOT NULL,
  size INTEGER NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (org_id, hash)
) STRICT;

CREATE TABLE session_files (
  org_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  path TEXT NOT NULL,
  directory INTEGER NOT NULL,
  readonly INTEGER NOT NULL,
  size INTEGER NOT NULL,
  hash BLOB,
  encoding TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id, path),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id),
  FOREIGN KEY (org_id, hash) REFERENCES blobs (org_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_todos (
  org_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  items TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  operation TEXT NOT NULL,
  key TEXT NOT NULL,
  input_hash BLOB NOT NULL,
  result TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

CREATE TABLE runners (
  id BLOB NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The log is append-only: the database itself refuses anything else.
-- +goose StatementBegin
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'events are append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'events are append-only');
END;
-- +goose StatementEnd

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
