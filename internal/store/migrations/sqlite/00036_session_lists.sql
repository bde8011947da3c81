-- +goose Up
-- What lists show of a session, and are ordered and filtered by, beside how far its words go: the indexer writes it behind the turns, whose
-- commits have nothing to do with it. The words know the message that first said them. The indexer starts anew, so that it fills both.
DROP TABLE word_sessions;
DELETE FROM word_feeds;
DROP TABLE message_words;
CREATE TABLE message_words (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  word TEXT NOT NULL,
  session_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (org_id, word, session_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE indexed_sessions (
  org_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  words INTEGER NOT NULL,
  preview TEXT,
  active_at INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,
  outcome TEXT,
  duration_ms INTEGER NOT NULL,
  model_id BLOB,
  PRIMARY KEY (org_id, session_id)
) STRICT, WITHOUT ROWID;
INSERT INTO indexed_sessions (org_id, session_id, position, words, active_at, cost_nanos, duration_ms)
SELECT org_id, id, 0, 0, updated_at, cost_nanos, 0 FROM sessions;
CREATE INDEX indexed_sessions_by_activity ON indexed_sessions (org_id, active_at, session_id);
CREATE INDEX indexed_sessions_by_cost ON indexed_sessions (org_id, cost_nanos, session_id);
CREATE INDEX indexed_sessions_by_duration ON indexed_sessions (org_id, duration_ms, session_id);
CREATE INDEX indexed_sessions_by_outcome ON indexed_sessions (org_id, outcome, session_id);
CREATE INDEX indexed_sessions_by_model ON indexed_sessions (org_id, model_id, session_id);

-- The lists of sessions that people have saved: search is what the dashboard's address holds.
CREATE TABLE saved_views (
  org_id BLOB NOT NULL,
  user_id BLOB NOT NULL,
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  search TEXT NOT NULL,
  preferred INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, user_id, id),
  UNIQUE (org_id, user_id, name_key),
  FOREIGN KEY (org_id, user_id) REFERENCES memberships (org_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE saved_views;
DROP TABLE indexed_sessions;
DROP TABLE message_words;
DELETE FROM word_feeds;
CREATE TABLE message_words (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  word TEXT NOT NULL,
  session_id BLOB NOT NULL,
  PRIMARY KEY (org_id, word, session_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE word_sessions (
  org_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  words INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id)
) STRICT, WITHOUT ROWID;
