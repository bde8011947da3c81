-- +goose Up
ALTER TABLE harnesses ADD COLUMN fallback_model_ids TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN fallback_model_ids TEXT NOT NULL DEFAULT '[]';

CREATE TABLE harness_revisions (
  org_id BLOB NOT NULL,
  harness_id BLOB NOT NULL,
  number INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id BLOB,
  reason TEXT,
  snapshot TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, harness_id, number),
  FOREIGN KEY (org_id, harness_id) REFERENCES harnesses (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_revisions (
  org_id BLOB NOT NULL,
  agent_id BLOB NOT NULL,
  number INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id BLOB,
  reason TEXT,
  snapshot TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, agent_id, number),
  FOREIGN KEY (org_id, agent_id) REFERENCES agents (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE images (
  org_id BLOB NOT NULL,
  id BLOB NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  hash BLOB NOT NULL,
  created_by_kind TEXT NOT NULL,
  created_by_id BLOB,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, hash) REFERENCES blobs (org_id, hash)
) STRICT, WITHOUT ROWID;

-- Lifecycle events have a gapless place in their organization's feed, too. The row of org_feeds is the last one that a
-- transaction locks, so that the order of places is the order of commits.
CREATE TABLE org_feeds (
  org_id BLOB NOT NULL PRIMARY KEY REFERENCES orgs (id),
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE events ADD COLUMN feed_position INTEGER;
CREATE UNIQUE INDEX events_feed ON events (org_id, feed_position) WHERE feed_position IS NOT NULL;

-- +goose Down
DROP INDEX events_feed;
ALTER TABLE events DROP COLUMN feed_position;
DROP TABLE org_feeds;
DROP TABLE images;
DROP TABLE agent_revisions;
DROP TABLE harness_revisions;
ALTER TABLE agents DROP COLUMN fallback_model_ids;
ALTER TABLE harnesses DROP COLUMN fallback_model_ids;
