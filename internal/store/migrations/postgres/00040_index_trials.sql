-- +goose Up
-- Lists of sessions leave trials out, or have nothing else: their indexes tell them apart, so that a page or a count of either never walks the
-- others. sessions_listed takes the place of sessions_by_time: ids begin with the time at which they were made, which bounds lists by time.
DROP INDEX sessions_by_time;
DROP INDEX sessions_by_agent;
DROP INDEX sessions_by_harness;
DROP INDEX sessions_by_status;
DROP INDEX sessions_by_customer;
CREATE INDEX sessions_listed ON sessions (org_id, trial, id);
CREATE INDEX sessions_by_agent ON sessions (org_id, agent_id, trial, id);
CREATE INDEX sessions_by_harness ON sessions (org_id, harness_id, trial, id);
CREATE INDEX sessions_by_status ON sessions (org_id, status, trial, id);
CREATE INDEX sessions_by_customer ON sessions (org_id, customer_key, trial, id) WHERE customer_key IS NOT NULL;

-- How the latest turns ended is filled in here, and what is new is indexed at once: the index goes on at the end of the feeds, and through what it
-- has not seen before that beside it, from backfilled through backfill_through.
DROP INDEX indexed_sessions_by_activity;
DROP INDEX indexed_sessions_by_cost;
DROP INDEX indexed_sessions_by_duration;
DROP INDEX indexed_sessions_by_outcome;
DROP INDEX indexed_sessions_by_model;
ALTER TABLE indexed_sessions ADD COLUMN trial boolean NOT NULL DEFAULT false;
UPDATE indexed_sessions SET trial = true WHERE EXISTS (
  SELECT 1 FROM sessions s WHERE s.org_id = indexed_sessions.org_id AND s.id = indexed_sessions.session_id AND s.trial);
UPDATE indexed_sessions SET outcome = t.status, duration_ms = t.finished_at - t.started_at FROM turns t
WHERE indexed_sessions.outcome IS NULL AND t.org_id = indexed_sessions.org_id AND t.id = (
  SELECT l.id FROM turns l WHERE l.org_id = indexed_sessions.org_id AND l.session_id = indexed_sessions.session_id
    AND l.ended_sequence IS NOT NULL AND l.started_at IS NOT NULL AND l.finished_at IS NOT NULL
  ORDER BY l.ended_sequence DESC LIMIT 1);
CREATE INDEX indexed_sessions_by_activity ON indexed_sessions (org_id, trial, active_at, session_id);
CREATE INDEX indexed_sessions_by_cost ON indexed_sessions (org_id, trial, cost_nanos, session_id);
CREATE INDEX indexed_sessions_by_duration ON indexed_sessions (org_id, trial, duration_ms, session_id);
CREATE INDEX indexed_sessions_by_outcome ON indexed_sessions (org_id, trial, outcome, session_id);
CREATE INDEX indexed_sessions_by_model ON indexed_sessions (org_id, trial, model_id, session_id);
ALTER TABLE word_feeds ADD COLUMN backfilled bigint NOT NULL DEFAULT 0;
ALTER TABLE word_feeds ADD COLUMN backfill_through bigint NOT NULL DEFAULT 0;
INSERT INTO word_feeds (org_id, position) SELECT f.org_id, 0 FROM org_feeds f WHERE NOT EXISTS (SELECT 1 FROM word_feeds w WHERE w.org_id = f.org_id);
UPDATE word_feeds SET backfilled = word_feeds.position, backfill_through = f.position, position = f.position FROM org_feeds f
WHERE f.org_id = word_feeds.org_id AND f.position > word_feeds.position;

-- Names are compared by their bytes, as on SQLite.
ALTER TABLE saved_views ALTER COLUMN name_key TYPE text COLLATE "C";

-- +goose Down
ALTER TABLE saved_views ALTER COLUMN name_key TYPE text COLLATE "default";
UPDATE word_feeds SET position = backfilled WHERE backfilled < backfill_through;
ALTER TABLE word_feeds DROP COLUMN backfill_through;
ALTER TABLE word_feeds DROP COLUMN backfilled;
DROP INDEX indexed_sessions_by_activity;
DROP INDEX indexed_sessions_by_cost;
DROP INDEX indexed_sessions_by_duration;
DROP INDEX indexed_sessions_by_outcome;
DROP INDEX indexed_sessions_by_model;
ALTER TABLE indexed_sessions DROP COLUMN trial;
CREATE INDEX indexed_sessions_by_activity ON indexed_sessions (org_id, active_at, session_id);
CREATE INDEX indexed_sessions_by_cost ON indexed_sessions (org_id, cost_nanos, session_id);
CREATE INDEX indexed_sessions_by_duration ON indexed_sessions (org_id, duration_ms, session_id);
CREATE INDEX indexed_sessions_by_outcome ON indexed_sessions (org_id, outcome, session_id);
CREATE INDEX indexed_sessions_by_model ON indexed_sessions (org_id, model_id, session_id);
DROP INDEX sessions_listed;
DROP INDEX sessions_by_agent;
DROP INDEX sessions_by_harness;
DROP INDEX sessions_by_status;
DROP INDEX sessions_by_customer;
CREATE INDEX sessions_by_agent ON sessions (org_id, agent_id, id);
CREATE INDEX sessions_by_harness ON sessions (org_id, harness_id, id);
CREATE INDEX sessions_by_status ON sessions (org_id, status, id);
CREATE INDEX sessions_by_customer ON sessions (org_id, customer_key, id) WHERE customer_key IS NOT NULL;
CREATE INDEX sessions_by_time ON sessions (org_id, created_at, id);
