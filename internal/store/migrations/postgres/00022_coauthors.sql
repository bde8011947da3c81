-- +goose Up
-- The people and keys, beside the one who started a turn, whose words are in its messages: none of them may approve what it does. NULL
-- for nobody.
ALTER TABLE turns ADD COLUMN coauthors json;

-- +goose Down
ALTER TABLE turns DROP COLUMN coauthors;
