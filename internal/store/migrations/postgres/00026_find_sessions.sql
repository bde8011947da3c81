-- +goose Up
-- The words by which sessions are found: those of their titles and customer keys, in lower case (models.Words). They have a table of
-- their own so that the rows of sessions, which change with every turn, have no further index to keep.
CREATE TABLE session_words (
  org_id uuid NOT NULL,
  word text COLLATE "C" NOT NULL,
  session_id uuid NOT NULL,
  PRIMARY KEY (org_id, word, session_id),
  FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id)
);
CREATE INDEX session_words_by_session ON session_words (org_id, session_id);
INSERT INTO session_words (org_id, word, session_id)
  SELECT DISTINCT s.org_id, w.word, s.id
  FROM sessions s, regexp_split_to_table(lower(coalesce(s.title, '') || ' ' || coalesce(s.customer_key, '')), '[^[:alnum:]]+') AS w (word)
  WHERE w.word <> '';

-- Turns that failed or were sealed. Others have no entry, and pay nothing for it.
CREATE INDEX turns_failed ON turns (org_id, session_id, ended_sequence) WHERE status IN ('FAILED', 'SEALED');

-- +goose Down
DROP INDEX turns_failed;
DROP TABLE session_words;
