-- +goose Up
-- What an organization may have and do where that is not what is configured for all: 0 is any number, NULL the configured one. All
-- processes look for the rows that have changed.
ALTER TABLE org_loads ADD COLUMN queued_turns bigint CHECK (queued_turns >= 0);
ALTER TABLE org_loads ADD COLUMN sessions bigint CHECK (sessions >= 0);
ALTER TABLE org_loads ADD COLUMN agents bigint CHECK (agents >= 0);
ALTER TABLE org_loads ADD COLUMN requests_per_minute bigint CHECK (requests_per_minute >= 0);
ALTER TABLE org_loads ADD COLUMN subscriptions bigint CHECK (subscriptions >= 0);
ALTER TABLE org_loads ADD COLUMN sockets bigint CHECK (sockets >= 0);
ALTER TABLE org_loads ADD COLUMN api_keys bigint CHECK (api_keys >= 0);
ALTER TABLE org_loads ADD COLUMN pending_invitations bigint CHECK (pending_invitations >= 0);
ALTER TABLE org_loads ADD COLUMN limits_changed_at bigint NOT NULL DEFAULT 0;
UPDATE org_loads SET limits_changed_at = 1 WHERE active_turns IS NOT NULL;
CREATE INDEX org_loads_changed ON org_loads (limits_changed_at) WHERE limits_changed_at > 0;

-- How many sessions an organization has, and how many of its turns have not begun: counted by the statement that moves its feed, which the
-- transaction makes anyhow. A transaction that adds some writes the cap beside them, and breaks the rule if another one was faster.
ALTER TABLE org_feeds ADD COLUMN sessions bigint NOT NULL DEFAULT 0;
ALTER TABLE org_feeds ADD COLUMN queued_turns bigint NOT NULL DEFAULT 0;
ALTER TABLE org_feeds ADD COLUMN sessions_cap bigint CONSTRAINT org_feeds_sessions_cap CHECK (sessions <= sessions_cap);
ALTER TABLE org_feeds ADD COLUMN queued_turns_cap bigint CONSTRAINT org_feeds_queued_turns_cap CHECK (queued_turns <= queued_turns_cap);
INSERT INTO org_feeds (org_id, position) SELECT DISTINCT s.org_id, 0 FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM org_feeds f WHERE f.org_id = s.org_id);
UPDATE org_feeds SET sessions = n.many FROM (SELECT org_id, count(*) AS many FROM sessions GROUP BY org_id) n WHERE n.org_id = org_feeds.org_id;
UPDATE org_feeds SET queued_turns = n.many FROM (SELECT org_id, count(*) AS many FROM turns WHERE started_at IS NULL AND finished_at IS NULL GROUP BY org_id) n
WHERE n.org_id = org_feeds.org_id;

-- What is counted up to a cap is found without what does not count.
CREATE INDEX agents_kept ON agents (org_id) WHERE lifecycle <> 'DELETED';
CREATE INDEX api_keys_kept ON api_keys (org_id) WHERE revoked_at IS NULL;
CREATE INDEX invitations_open ON invitations (org_id, expires_at) WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- How many requests of the minute, since 1970, the processes have taken for an organization, in chunks.
CREATE TABLE org_rates (
  org_id uuid NOT NULL PRIMARY KEY REFERENCES orgs (id),
  minute bigint NOT NULL,
  taken bigint NOT NULL
);

-- The processes that serve requests, and what each has taken of the sockets and subscriptions of an organization. One that was not seen for
-- long is dead, and what it has taken counts no more.
CREATE TABLE api_nodes (
  id uuid NOT NULL PRIMARY KEY,
  seen_at bigint NOT NULL
);
CREATE TABLE org_leases (
  org_id uuid NOT NULL REFERENCES orgs (id),
  node_id uuid NOT NULL REFERENCES api_nodes (id) ON DELETE CASCADE,
  sockets bigint NOT NULL,
  subscriptions bigint NOT NULL,
  PRIMARY KEY (org_id, node_id)
);
CREATE INDEX org_leases_by_node ON org_leases (node_id);

-- +goose Down
DROP TABLE org_leases;
DROP TABLE api_nodes;
DROP TABLE org_rates;
DROP INDEX invitations_open;
DROP INDEX api_keys_kept;
DROP INDEX agents_kept;
ALTER TABLE org_feeds DROP COLUMN queued_turns_cap;
ALTER TABLE org_feeds DROP COLUMN sessions_cap;
ALTER TABLE org_feeds DROP COLUMN queued_turns;
ALTER TABLE org_feeds DROP COLUMN sessions;
DROP INDEX org_loads_changed;
ALTER TABLE org_loads DROP COLUMN limits_changed_at;
ALTER TABLE org_loads DROP COLUMN pending_invitations;
ALTER TABLE org_loads DROP COLUMN api_keys;
ALTER TABLE org_loads DROP COLUMN sockets;
ALTER TABLE org_loads DROP COLUMN subscriptions;
ALTER TABLE org_loads DROP COLUMN requests_per_minute;
ALTER TABLE org_loads DROP COLUMN agents;
ALTER TABLE org_loads DROP COLUMN sessions;
ALTER TABLE org_loads DROP COLUMN queued_turns;
