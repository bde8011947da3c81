-- +goose Up
-- Turns that failed or were sealed, by when they ended: all, and those with the same code. Others have no entry, and pay nothing for it.
CREATE INDEX turns_failed_by_time ON turns (org_id, finished_at, id) WHERE status IN ('FAILED', 'SEALED');
CREATE INDEX turns_failed_by_code ON turns (org_id, (error->>'code'), finished_at, id) WHERE status IN ('FAILED', 'SEALED');

-- +goose Down
DROP INDEX turns_failed_by_code;
DROP INDEX turns_failed_by_time;
