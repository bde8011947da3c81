-- +goose Up
ALTER TABLE harnesses ADD COLUMN stream_recovery text;
ALTER TABLE agents ADD COLUMN client_tools json NOT NULL DEFAULT '[]';

-- Sets of client tools that sessions bring, by the SHA-256 of their content: sessions of one program share theirs.
CREATE TABLE client_toolsets (
  org_id uuid NOT NULL REFERENCES orgs (id),
  hash bytea NOT NULL,
  tools json NOT NULL,
  PRIMARY KEY (org_id, hash)
);

ALTER TABLE sessions ADD COLUMN client_tools bytea;
ALTER TABLE sessions ADD COLUMN parent_id uuid;
ALTER TABLE sessions ADD COLUMN root_id uuid;
ALTER TABLE sessions ADD COLUMN forked_from_id uuid;
-- Through this sequence the log of a fork is that of other sessions; see session_lineage.
ALTER TABLE sessions ADD COLUMN base_sequence bigint NOT NULL DEFAULT 0;

-- Where the history of a fork comes from, flattened: each row is a piece of the log, from the first sequence (exclusive)
-- through the last one, that an earlier session holds.
CREATE TABLE session_lineage (
  org_id uuid NOT NULL,
  session_id uuid NOT NULL,
  through_sequence bigint NOT NULL,
  after_sequence bigint NOT NULL,
  ancestor_id uuid NOT NULL,
  PRIMARY KEY (org_id, session_id, through_sequence),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id),
  FOREIGN KEY (org_id, ancestor_id) REFERENCES sessions (org_id, id)
);
CREATE INDEX session_lineage_by_ancestor ON session_lineage (org_id, ancestor_id);

ALTER TABLE turns ADD COLUMN input_sequence bigint NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN waiting_calls bigint NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN attention boolean NOT NULL DEFAULT false;
-- A tool has asked for the key of a wait.
ALTER TABLE turns ADD COLUMN announced boolean NOT NULL DEFAULT false;
-- Messages that another turn had not been shown, through this sequence, have come to this one.
ALTER TABLE turns ADD COLUMN carries bigint NOT NULL DEFAULT 0;
-- Hooks are to run when the turn has ended.
ALTER TABLE turns ADD COLUMN end_hooks boolean NOT NULL DEFAULT false;
ALTER TABLE turns ADD COLUMN cancel json;
ALTER TABLE turns ADD COLUMN ended_sequence bigint;
ALTER TABLE turns ADD COLUMN started_by_kind text NOT NULL DEFAULT 'SYSTEM';
ALTER TABLE turns ADD COLUMN started_by_id uuid;
-- Positions in the line leave room to put others in between.
UPDATE turns SET input_sequence = queue_position, queue_position = queue_position * 65536;
UPDATE turns SET ended_sequence = (SELECT max(e.sequence) FROM events e WHERE e.org_id = turns.org_id AND e.session_id = turns.session_id
  AND e.turn_id = turns.id AND e.kind IN ('TURN_COMPLETED', 'TURN_FAILED', 'TURN_SEALED')) WHERE phase = 'END';
-- The turns of an ancestor that a fork has are those that ended by a sequence.
CREATE INDEX turns_by_end ON turns (org_id, session_id, ended_sequence) WHERE ended_sequence IS NOT NULL;

-- Who sent a message of the user.
ALTER TABLE messages ADD COLUMN author_id uuid;
ALTER TABLE messages ADD COLUMN interrupted boolean NOT NULL DEFAULT false;
ALTER TABLE effects ADD COLUMN due_at bigint;
ALTER TABLE checkpoints ADD COLUMN tool_call boolean NOT NULL DEFAULT false;
ALTER TABLE checkpoints ADD COLUMN usage json;

CREATE TABLE waits (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  turn_id uuid NOT NULL,
  kind text NOT NULL,
  -- What is waited for within the turn: the same thing is waited for once.
  identity text NOT NULL,
  state text NOT NULL,
  tool_call_id text,
  tool_name text,
  request json NOT NULL,
  deadline bigint,
  resolution json,
  approvals bigint NOT NULL,
  created_at bigint NOT NULL,
  resolved_at bigint,
  PRIMARY KEY (org_id, id),
  UNIQUE (org_id, turn_id, identity),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id),
  FOREIGN KEY (org_id, turn_id) REFERENCES turns (org_id, id)
);
CREATE INDEX waits_open ON waits (org_id, id) WHERE state = 'OPEN';
-- What is overdue, across organizations.
CREATE INDEX waits_due ON waits (deadline) WHERE state = 'OPEN' AND deadline IS NOT NULL;

CREATE TABLE approval_decisions (
  org_id uuid NOT NULL,
  wait_id uuid NOT NULL,
  actor_id uuid NOT NULL,
  actor_kind text NOT NULL,
  approve boolean NOT NULL,
  arguments json,
  note text,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, wait_id, actor_id),
  FOREIGN KEY (org_id, wait_id) REFERENCES waits (org_id, id)
);

-- Hooks that run after what they are about has been committed.
CREATE TABLE hook_jobs (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  turn_id uuid,
  event text NOT NULL,
  payload json NOT NULL,
  attempt bigint NOT NULL,
  due_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
);
CREATE INDEX hook_jobs_due ON hook_jobs (due_at);

-- +goose Down
DROP TABLE hook_jobs;
DROP TABLE approval_decisions;
DROP TABLE waits;
ALTER TABLE checkpoints DROP COLUMN usage;
ALTER TABLE checkpoints DROP COLUMN tool_call;
ALTER TABLE effects DROP COLUMN due_at;
ALTER TABLE messages DROP COLUMN interrupted;
ALTER TABLE messages DROP COLUMN author_id;
UPDATE turns SET queue_position = input_sequence;
ALTER TABLE turns DROP COLUMN started_by_id;
ALTER TABLE turns DROP COLUMN started_by_kind;
DROP INDEX turns_by_end;
ALTER TABLE turns DROP COLUMN ended_sequence;
ALTER TABLE turns DROP COLUMN cancel;
ALTER TABLE turns DROP COLUMN end_hooks;
ALTER TABLE turns DROP COLUMN carries;
ALTER TABLE turns DROP COLUMN announced;
ALTER TABLE turns DROP COLUMN attention;
ALTER TABLE turns DROP COLUMN waiting_calls;
ALTER TABLE turns DROP COLUMN input_sequence;
DROP TABLE session_lineage;
ALTER TABLE sessions DROP COLUMN base_sequence;
ALTER TABLE sessions DROP COLUMN forked_from_id;
ALTER TABLE sessions DROP COLUMN root_id;
ALTER TABLE sessions DROP COLUMN parent_id;
ALTER TABLE sessions DROP COLUMN client_tools;
DROP TABLE client_toolsets;
ALTER TABLE agents DROP COLUMN client_tools;
ALTER TABLE harnesses DROP COLUMN stream_recovery;
