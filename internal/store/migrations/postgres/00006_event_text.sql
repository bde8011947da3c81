-- +goose Up
-- The size of a text is known without unpacking it, that of json is not: pages of the log end by size.
ALTER TABLE events ALTER COLUMN data TYPE text;

-- +goose Down
ALTER TABLE events ALTER COLUMN data TYPE json USING data::json;
