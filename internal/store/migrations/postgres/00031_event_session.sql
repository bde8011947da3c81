-- +goose Up
-- PostgreSQL looked for the session of each event: for a turn with a tool 19 times, a quarter of what its writes took. The committer alone
-- writes events, those of the session that the same transaction has locked.
ALTER TABLE events DROP CONSTRAINT events_org_id_session_id_fkey;

-- +goose Down
ALTER TABLE events ADD CONSTRAINT events_org_id_session_id_fkey FOREIGN KEY (org_id, session_id) REFERENCES sessions (org_id, id);
