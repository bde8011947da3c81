-- +goose Up
-- Turns that failed or were sealed, by when they ended: all, and those with the same code. Others have no entry, and pay nothing for it.
CREATE INDEX turns_failed_by_time ON turns (org_id, finished_at, id) WHERE status IN ('FAILED', 'SEALED');
CREATE INDEX turns_failed_by_code ON turns (org_id, (error->>'code'), finished_at, id) WHERE status IN ('FAILED', 'SEALED');

-- The words of messages (models.Words), by which sessions are found, and how far they go: an indexer writes them behind the turns, whose commits
-- have nothing to do with them. It follows the feed of the organization; position is how far it has got there.
CREATE TABLE message_words (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  word TEXT NOT NULL,
  session_id BLOB NOT NULL,
  PRIMARY KEY (org_id, word, session_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE word_feeds (
  org_id BLOB NOT NULL PRIMARY KEY REFERENCES orgs (id),
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- How far the messages of a session are in it, by their positions in the conversation, and how many words they have.
CREATE TABLE word_sessions (
  org_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  words INTEGER NOT NULL,
  PRIMARY KEY (org_id, session_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE word_sessions;
DROP TABLE word_feeds;
DROP TABLE message_words;
DROP INDEX turns_failed_by_code;
DROP INDEX turns_failed_by_time;
