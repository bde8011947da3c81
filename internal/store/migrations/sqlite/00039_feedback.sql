-- +goose Up
-- What people and API keys think of turns. Who has taken it back keeps a row without rating and comment.
CREATE TABLE turn_feedback (
  org_id BLOB NOT NULL,
  turn_id BLOB NOT NULL,
  actor_id BLOB NOT NULL,
  actor_kind TEXT NOT NULL,
  session_id BLOB NOT NULL,
  rating TEXT,
  comment TEXT,
  rated_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, turn_id, actor_id),
  FOREIGN KEY (org_id, turn_id) REFERENCES turns (org_id, id)
) STRICT, WITHOUT ROWID;
-- The sessions with answers that somebody has rated down.
CREATE INDEX turn_feedback_down ON turn_feedback (org_id, session_id, turn_id, actor_id) WHERE rating = 'DOWN';

-- What waits for people, by when it began to: those who can resolve it get mail once it has waited for a while.
CREATE INDEX waits_asking ON waits (created_at, org_id) WHERE state = 'OPEN' AND kind IN ('APPROVAL', 'QUESTION', 'BUDGET');
-- Until when members were told of what waits for them, when that was, and since when they have it switched off.
CREATE TABLE wait_mails (
  org_id BLOB NOT NULL REFERENCES orgs (id),
  user_id BLOB NOT NULL,
  told_through INTEGER NOT NULL,
  mailed_at INTEGER NOT NULL,
  off_since INTEGER,
  PRIMARY KEY (org_id, user_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE wait_mails;
DROP INDEX waits_asking;
DROP TABLE turn_feedback;
