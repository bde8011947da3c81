-- +goose Up
-- The words by which sessions are found: those of their titles and customer keys, in lower case (models.Words). They have a table of
-- their own so that the rows of sessions, which change with every turn, have no further index to keep.
CREATE TABLE session_words (
  org_id BLOB NOT NULL,
  word TEXT NOT NULL,
  session_id BLOB NOT NULL,
  PRIMARY KEY (org_id, word, session_id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_words_by_session ON session_words (org_id, session_id);
-- Existing sessions: text is cut at each character of ASCII that is no letter or digit. SQLite's lower knows ASCII alone, so a word with
-- another capital letter in it is not found until its session gets a new title.
INSERT INTO session_words (org_id, word, session_id)
  WITH RECURSIVE cut (org_id, id, word, rest) AS (
    SELECT org_id, id, '', lower(coalesce(title, '') || ' ' || coalesce(customer_key, '')) || ' ' FROM sessions
    UNION ALL
    SELECT org_id, id,
      CASE WHEN substr(rest, 1, 1) GLOB '[a-z0-9]' OR unicode(rest) > 127 THEN word || substr(rest, 1, 1) ELSE '' END,
      substr(rest, 2)
    FROM cut WHERE rest <> ''
  )
  SELECT DISTINCT org_id, word, id FROM cut
  WHERE word <> '' AND NOT (substr(rest, 1, 1) GLOB '[a-z0-9]' OR unicode(rest) > 127);

-- Turns that failed or were sealed. Others have no entry, and pay nothing for it.
CREATE INDEX turns_failed ON turns (org_id, session_id, ended_sequence) WHERE status IN ('FAILED', 'SEALED');

-- +goose Down
DROP INDEX turns_failed;
DROP TABLE session_words;
