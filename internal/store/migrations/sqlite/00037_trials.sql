-- +goose Up
-- A session that tries a draft of an agent brings the draft with it, by its content, as it brings client tools.
ALTER TABLE client_toolsets ADD COLUMN draft TEXT;
ALTER TABLE sessions ADD COLUMN trial INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE sessions DROP COLUMN trial;
ALTER TABLE client_toolsets DROP COLUMN draft;
