-- +goose Up
-- What rolling budgets have spent in the parts of their windows, numbered since 1970; newest is the time of the newest posting in one. Rows are
-- written under the lock of the budget's.
CREATE TABLE budget_slots (
  org_id uuid NOT NULL,
  budget_id uuid NOT NULL,
  slot bigint NOT NULL,
  newest bigint NOT NULL,
  spent bigint NOT NULL,
  PRIMARY KEY (org_id, budget_id, slot),
  FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id)
);
INSERT INTO budget_slots (org_id, budget_id, slot, newest, spent)
SELECT b.org_id, b.id, (k->>'slot')::bigint, (k->>'newest')::bigint, (k->>'spent')::bigint
FROM budgets b CROSS JOIN LATERAL json_array_elements(CASE json_typeof(b.buckets) WHEN 'array' THEN b.buckets END) k WHERE (k->>'spent')::bigint <> 0;
ALTER TABLE budgets DROP COLUMN buckets;

-- +goose Down
ALTER TABLE budgets ADD COLUMN buckets json;
UPDATE budgets b SET buckets = (SELECT json_agg(json_build_object('slot', s.slot, 'newest', s.newest, 'spent', s.spent) ORDER BY s.slot)
  FROM budget_slots s WHERE s.org_id = b.org_id AND s.budget_id = b.id) WHERE b.period_kind = 'ROLLING';
DROP TABLE budget_slots;
