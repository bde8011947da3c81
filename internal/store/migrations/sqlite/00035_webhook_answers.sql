-- +goose Up
-- How long the last attempt of a delivery took, and the beginning of the answer to it.
ALTER TABLE webhook_deliveries ADD COLUMN duration_ms INTEGER;
ALTER TABLE webhook_deliveries ADD COLUMN response TEXT;

-- +goose Down
ALTER TABLE webhook_deliveries DROP COLUMN response;
ALTER TABLE webhook_deliveries DROP COLUMN duration_ms;
