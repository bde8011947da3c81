-- +goose Up
-- What rolling budgets have spent in the parts of their windows, numbered since 1970; newest is the time of the newest posting in one. Rows are
-- written under the lock of the budget's.
CREATE TABLE budget_slots (
  org_id BLOB NOT NULL,
  budget_id BLOB NOT NULL,
  slot INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  PRIMARY KEY (org_id, budget_id, slot),
  FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO budget_slots (org_id, budget_id, slot, newest, spent)
SELECT b.org_id, b.id, k.value->>'slot', k.value->>'newest', k.value->>'spent' FROM budgets b CROSS JOIN json_each(b.buckets) k WHERE k.value->>'spent' <> 0;
ALTER TABLE budgets DROP COLUMN buckets;

-- +goose Down
ALTER TABLE budgets ADD COLUMN buckets TEXT;
UPDATE budgets SET buckets = (SELECT json_group_array(json_object('slot', s.slot, 'newest', s.newest, 'spent', s.spent))
  FROM (SELECT * FROM budget_slots s WHERE s.org_id = budgets.org_id AND s.budget_id = budgets.id ORDER BY s.slot) s) WHERE period_kind = 'ROLLING';
DROP TABLE budget_slots;
