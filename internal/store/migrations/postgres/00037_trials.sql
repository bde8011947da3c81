-- +goose Up
-- A session that tries a draft of an agent brings the draft with it, by its content, as it brings client tools.
ALTER TABLE client_toolsets ADD COLUMN draft json;
ALTER TABLE sessions ADD COLUMN trial boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE sessions DROP COLUMN trial;
ALTER TABLE client_toolsets DROP COLUMN draft;
