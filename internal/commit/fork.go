package commit

import (
	"github.com/ostler-dev/ostler/internal/models"
)

// Fork is a session that begins with the history of another one.
type Fork struct {
	// Session is what it is to be. The organization, the time, where it comes from and its sequences are filled in; FileBytes are those of
	// the files that it will have.
	Session models.Session
	// Through is the last sequence of the history that both have.
	Through int64
	// Files and Gone are how its files differ from the present ones of the original: entries that it has instead, or besides,
	// and paths that it doesn't have.
	Files []models.SessionFile
	Gone  []string
	// TodosBefore tells to take over the agent's plan if it was written before this time.
	TodosBefore models.Millis
}

// fork is a session that a command makes beside its own.
type fork struct {
	state *state
	tx    *Tx
}

// Fork makes a session that begins with the history of this one, and returns its state, to which the command adds its first events.
// What they share is not copied, and entries of files are copied within the database, where they stand as they did before this
// batch. So a fork is the first that happens to its session in a batch.
//
// An error of Fork must be returned by the command. Submit never returns it: it puts the command off to a batch of its own.
func (tx *Tx) Fork(f Fork) (*Tx, error) {
	if tx.moved {
		return nil, tx.lacks(lackBatch)
	}
	s := newState(key{tx.org, f.Session.ID}, &loaded{})
	child := s.draft(tx.Now, tx.Known)
	row := f.Session
	row.OrgID, row.ForkedFromID, row.BaseSequence = tx.org, &tx.sessionID, f.Through
	// A fork draws on the budgets of the original, so that nobody escapes them by forking.
	if row.RootID = &tx.sessionID; tx.Session.RootID != nil {
		row.RootID = tx.Session.RootID
	}
	row.CreatedAt = tx.Now
	row.LastSequence, row.InputSequence, row.CurrentTurnID, row.QueuedTurns = f.Through, 0, nil, 0
	child.CreateSession(row)
	from := copied{OrgID: tx.org, SessionID: f.Session.ID, FromID: tx.sessionID, Through: f.Through, Base: tx.Session.BaseSequence, TodosBefore: f.TodosBefore}
	for _, copying := range []kind[copied]{copyLineage, copyFiles, copyTodos} {
		copying.put(child.w, from)
	}
	for _, file := range f.Files {
		file.OrgID, file.SessionID = child.org, child.sessionID
		child.files[file.Path] = file
		putFile.put(child.w, file)
	}
	for _, path := range f.Gone {
		deleteFile.put(child.w, models.SessionFile{OrgID: child.org, SessionID: child.sessionID, Path: path})
	}
	tx.forks = append(tx.forks, fork{s, child})
	return child, nil
}

// Events returns what Needs.Events asked for, oldest first, as it was before this batch; there may be others among them, which commands
// of the same batch have asked for.
func (tx *Tx) Events() []models.Event { return tx.log }
