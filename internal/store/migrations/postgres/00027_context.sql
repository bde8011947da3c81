-- +goose Up
-- The sequence through which the model was not shown the conversation, because it doesn't fit its context window. NULL when it was shown all.
ALTER TABLE sessions ADD COLUMN compacted_through bigint;

-- +goose Down
ALTER TABLE sessions DROP COLUMN compacted_through;
