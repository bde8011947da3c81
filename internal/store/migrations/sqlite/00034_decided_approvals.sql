-- +goose Up
-- The history of decisions, newest first.
CREATE INDEX waits_decided ON waits (org_id, resolved_at, id) WHERE kind = 'APPROVAL' AND state <> 'OPEN';

-- +goose Down
DROP INDEX waits_decided;
