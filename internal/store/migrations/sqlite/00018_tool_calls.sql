-- +goose Up
-- How many calls of tools that reach out of the server an organization may make in a minute, where that is not what is configured for all;
-- and how many of the minute, since 1970, the processes have taken for it, in chunks.
ALTER TABLE org_loads ADD COLUMN tool_calls_per_minute INTEGER CHECK (tool_calls_per_minute >= 0);
ALTER TABLE org_rates ADD COLUMN tool_minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE org_rates ADD COLUMN tool_calls_taken INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE org_rates DROP COLUMN tool_calls_taken;
ALTER TABLE org_rates DROP COLUMN tool_minute;
ALTER TABLE org_loads DROP COLUMN tool_calls_per_minute;
