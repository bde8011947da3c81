-- +goose Up
-- What others look for in pg_locks to see whether the process of a runner lives; NULL where only the heartbeat tells.
ALTER TABLE runners ADD COLUMN lock_key bigint;

-- Organizations whose share of the runners is not the usual one. One without a row has weight 1 and the configured cap. Claims of
-- an organization that has a cap lock its row.
CREATE TABLE org_loads (
  org_id uuid NOT NULL PRIMARY KEY REFERENCES orgs (id),
  weight bigint NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
  active_turns bigint CHECK (active_turns >= 0)
);
CREATE INDEX org_loads_caps ON org_loads (org_id) WHERE active_turns IS NOT NULL;

-- A claim jumps from one organization to the next.
DROP INDEX turns_ready;
CREATE INDEX turns_ready ON turns (org_id, ready_at) WHERE ready_at IS NOT NULL;
-- The turns that an organization has at work are counted runner by runner: parked ones are not among them.
DROP INDEX turns_held;
CREATE INDEX turns_held ON turns (runner_id, org_id) WHERE runner_id IS NOT NULL;

-- +goose Down
DROP INDEX turns_held;
CREATE INDEX turns_held ON turns (runner_id) WHERE runner_id IS NOT NULL;
DROP INDEX turns_ready;
CREATE INDEX turns_ready ON turns (ready_at) WHERE ready_at IS NOT NULL;
DROP TABLE org_loads;
ALTER TABLE runners DROP COLUMN lock_key;
