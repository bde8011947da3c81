-- +goose Up
ALTER TABLE harnesses ADD COLUMN fallback_model_ids json NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN fallback_model_ids json NOT NULL DEFAULT '[]';

CREATE TABLE harness_revisions (
  org_id uuid NOT NULL,
  harness_id uuid NOT NULL,
  number bigint NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid,
  reason text,
  snapshot json NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, harness_id, number),
  FOREIGN KEY (org_id, harness_id) REFERENCES harnesses (org_id, id)
);

CREATE TABLE agent_revisions (
  org_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  number bigint NOT NULL,
  actor_kind text NOT NULL,
  actor_id uuid,
  reason text,
  snapshot json NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, agent_id, number),
  FOREIGN KEY (org_id, agent_id) REFERENCES agents (org_id, id)
);

CREATE TABLE images (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  media_type text NOT NULL,
  size bigint NOT NULL,
  width bigint NOT NULL,
  height bigint NOT NULL,
  hash bytea NOT NULL,
  created_by_kind text NOT NULL,
  created_by_id uuid,
  created_at bigint NOT NULL,
  PRIMARY KEY (org_id, id),
  FOREIGN KEY (org_id, hash) REFERENCES blobs (org_id, hash)
);

-- Lifecycle events have a gapless place in their organization's feed, too. The row of org_feeds is the last one that a
-- transaction locks, so that the order of places is the order of commits.
CREATE TABLE org_feeds (
  org_id uuid NOT NULL PRIMARY KEY REFERENCES orgs (id),
  position bigint NOT NULL
);
ALTER TABLE events ADD COLUMN feed_position bigint;
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
