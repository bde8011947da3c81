-- +goose Up
-- What lists show of a session, and are ordered and filtered by, beside how far its words go: the indexer writes it behind the turns, whose
-- commits have nothing to do with it. The words know the message that first said them. The indexer starts anew, so that it fills both.
DROP TABLE word_sessions;
DELETE FROM word_feeds;
DROP TABLE message_words;
CREATE TABLE message_words (
  org_id uuid NOT NULL REFERENCES orgs (id),
  word text COLLATE "C" NOT NULL,
  session_id uuid NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (org_id, word, session_id)
);
CREATE TABLE indexed_sessions (
  org_id uuid NOT NULL,
  session_id uuid NOT NULL,
  position bigint NOT NULL,
  words bigint NOT NULL,
  preview text,
  active_at bigint NOT NULL,
  cost_nanos bigint NOT NULL,
  outcome text,
  duration_ms bigint NOT NULL,
  model_id uuid,
  PRIMARY KEY (org_id, session_id)
) WITH (fillfactor = 60);
INSERT INTO indexed_sessions (org_id, session_id, position, words, active_at, cost_nanos, duration_ms)
SELECT org_id, id, 0, 0, updated_at, cost_nanos, 0 FROM sessions;
CREATE INDEX indexed_sessions_by_activity ON indexed_sessions (org_id, active_at, session_id);
CREATE INDEX indexed_sessions_by_cost ON indexed_sessions (org_id, cost_nanos, session_id);
CREATE INDEX indexed_sessions_by_duration ON indexed_sessions (org_id, duration_ms, session_id);
CREATE INDEX indexed_sessions_by_outcome ON indexed_sessions (org_id, outcome, session_id);
CREATE INDEX indexed_sessions_by_model ON indexed_sessions (org_id, model_id, session_id);

-- The lists of sessions that people have saved: search is what the dashboard's address holds.
CREATE TABLE saved_views (
  org_id uuid NOT NULL,
  user_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  name_key text NOT NULL,
  search text NOT NULL,
  preferred boolean NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (org_id, user_id, id),
  UNIQUE (org_id, user_id, name_key),
  FOREIGN KEY (org_id, user_id) REFERENCES memberships (org_id, user_id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE saved_views;
DROP TABLE indexed_sessions;
DROP TABLE message_words;
DELETE FROM word_feeds;
CREATE TABLE message_words (
  org_id uuid NOT NULL REFERENCES orgs (id),
  word text COLLATE "C" NOT NULL,
  session_id uuid NOT NULL,
  PRIMARY KEY (org_id, word, session_id)
);
CREATE TABLE word_sessions (
  org_id uuid NOT NULL,
  session_id uuid NOT NULL,
  position bigint NOT NULL,
  words bigint NOT NULL,
  PRIMARY KEY (org_id, session_id)
) WITH (fillfactor = 60);
