-- +goose Up
-- Lists of sessions follow their ids, which begin with a time: by this a time is turned into the id where a list ends.
CREATE INDEX sessions_by_time ON sessions (org_id, created_at, id);

-- +goose Down
DROP INDEX sessions_by_time;
