-- +goose Up
-- The prices that models have had, each from its time until the next one: what a model costs now is in the model's own row as well. NULL is
-- not known. What was rated in the past is in the journal, and is never worked out from here.
CREATE TABLE model_prices (
  org_id uuid NOT NULL,
  model_id uuid NOT NULL,
  valid_from bigint NOT NULL,
  input bigint,
  output bigint,
  cache_read bigint,
  cache_write bigint,
  PRIMARY KEY (org_id, model_id, valid_from),
  FOREIGN KEY (org_id, model_id) REFERENCES models (org_id, id)
);
-- Of models that are there already, nobody knows more than that they have had their prices since they were last changed.
INSERT INTO model_prices (org_id, model_id, valid_from, input, output, cache_read, cache_write)
SELECT org_id, id, updated_at, price_input, price_output, price_cache_read, price_cache_write FROM models;

-- +goose Down
DROP TABLE model_prices;
