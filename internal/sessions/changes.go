package sessions

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// Limits of a session's filesystem.
const (
	// MaxFileBytes bounds one file.
	MaxFileBytes = 100 << 20
	// MaxSessionBytes bounds all files of a session together.
	MaxSessionBytes = 500 << 20
)

// Changes is what one tool call, or one request, writes to a session. It is collected while the call runs and commits with its
// result, or not at all, so that a call that runs again never meets its own half.
type Changes struct {
	ops   []fileOp
	todos []models.Todo
	bytes int
}

// fileOp is a write or a removal of one entry.
type fileOp struct {
	file    models.SessionFile
	content []byte
	remove  bool
	subtree bool
	// expected is the hash that the entry must have when the change commits; nil for any.
	expected *string
}

// NewChanges makes an empty collection.
func NewChanges() *Changes { return &Changes{} }

// SetTodos replaces the agent's plan.
func (c *Changes) SetTodos(items []models.Todo) { c.todos = append([]models.Todo{}, items...) }

func (c *Changes) write(f models.SessionFile, content []byte, expected *string) {
	// Not nil, also for an empty file.
	copied := append(make([]byte, 0, len(content)), content...)
	c.ops = append(c.ops, fileOp{file: f, content: copied, expected: expected})
	c.bytes += len(content)
}

func (c *Changes) remove(path string, subtree bool) {
	c.ops = append(c.ops, fileOp{file: models.SessionFile{Path: path}, remove: true, subtree: subtree})
}

// Bytes is about how much will be written.
func (c *Changes) Bytes() int { return c.bytes + 256*len(c.ops) + 600*len(c.todos) }

// Needs returns the entries that Apply looks at: those that it changes, and the directories above them.
func (c *Changes) Needs() []commit.FileNeed {
	var needs []commit.FileNeed
	seen := map[commit.FileNeed]bool{}
	need := func(n commit.FileNeed) {
		if !seen[n] {
			seen[n] = true
			needs = append(needs, n)
		}
	}
	for _, op := range c.ops {
		need(commit.FileNeed{Path: op.file.Path, Subtree: op.remove})
		for _, dir := range parents(op.file.Path) {
			need(commit.FileNeed{Path: dir})
		}
	}
	return needs
}

// Apply writes everything, after it has made sure that nothing stands against any of it. The error is a *tools.PathError when
// somebody else has changed a file meanwhile, or when a limit is reached; then nothing was written.
func (c *Changes) Apply(tx *commit.Tx, turn *models.TurnID) error {
	if err := c.check(tx); err != nil {
		return err
	}
	for _, op := range c.ops {
		if op.remove {
			op.removeFrom(tx, turn)
			continue
		}
		written := events.FileWritten{Path: op.file.Path, Hash: hex.EncodeToString(op.file.Hash), Size: op.file.Size, Created: true}
		for _, dir := range parents(op.file.Path) {
			if _, exists := tx.File(dir); !exists {
				tx.PutFile(models.SessionFile{Path: dir, Directory: true}, nil)
				written.Directories = append(written.Directories, dir)
			}
		}
		if have, exists := tx.File(op.file.Path); exists {
			written.Created, written.Before = false, stateOf(have)
		}
		tx.PutFile(op.file, &models.Blob{Hash: op.file.Hash, Size: op.file.Size, Content: op.content})
		tx.Emit(turn, written)
	}
	if c.todos != nil {
		tx.SaveTodos(c.todos)
	}
	return nil
}

// removeFrom removes the entry, and what is below it, innermost first.
func (op fileOp) removeFrom(tx *commit.Tx, turn *models.TurnID) {
	var doomed []models.SessionFile
	for path, f := range tx.FilesLoaded() {
		if op.hits(path) {
			doomed = append(doomed, f)
		}
	}
	slices.SortFunc(doomed, func(a, b models.SessionFile) int { return strings.Compare(b.Path, a.Path) })
	for _, f := range doomed {
		tx.RemoveFile(f)
		tx.Emit(turn, events.FileWritten{Path: f.Path, Deleted: true, Directory: f.Directory, Before: stateOf(f)})
	}
}

// stateOf is what an event keeps of an entry that is replaced or removed.
func stateOf(f models.SessionFile) *events.FileState {
	return &events.FileState{
		Hash: hex.EncodeToString(f.Hash), Size: f.Size, Encoding: f.Encoding, Readonly: f.Readonly, UpdatedAt: f.UpdatedAt,
	}
}

// hits reports whether a removal concerns a path.
func (op fileOp) hits(path string) bool {
	return path == op.file.Path || (op.subtree && below(path, op.file.Path))
}

// check does the operations to what is stored by now, without writing.
func (c *Changes) check(tx *commit.Tx) error {
	now := map[string]models.SessionFile{}
	maps.Copy(now, tx.FilesLoaded())
	at := func(path string) *models.SessionFile {
		if f, ok := now[path]; ok {
			return &f
		}
		return nil
	}
	total := tx.Session.FileBytes
	for _, op := range c.ops {
		path := op.file.Path
		if err := writable(path, at); err != nil {
			return err
		}
		if op.remove {
			freed, err := op.checkRemoval(now)
			if err != nil {
				return err
			}
			total -= freed
			continue
		}
		have := at(path)
		if err := expected(path, have, op.expected); err != nil {
			return err
		}
		if have != nil {
			if have.Directory {
				return pathError("is_directory", path, "%s has become a directory.", path)
			}
			total -= have.Size
		}
		for _, dir := range parents(path) {
			if _, exists := now[dir]; !exists {
				now[dir] = models.SessionFile{Path: dir, Directory: true}
			}
		}
		total += op.file.Size
		now[path] = op.file
	}
	if total > MaxSessionBytes && total > tx.Session.FileBytes {
		return pathError("quota_exceeded", c.ops[len(c.ops)-1].file.Path,
			"The files of the session would have %d bytes in all; at most %d are allowed. Delete some first.", total, MaxSessionBytes)
	}
	return nil
}

// checkRemoval takes what is removed out of the entries and tells how much room that gives.
func (op fileOp) checkRemoval(now map[string]models.SessionFile) (freed int64, err error) {
	for path, f := range now {
		switch {
		case !op.subtree && below(path, op.file.Path):
			return 0, pathError("not_empty", op.file.Path, "The directory %s is not empty; delete it with recursive.", op.file.Path)
		case op.hits(path) && f.Readonly:
			return 0, pathError("readonly", path, "%s is read-only, so %s can't be deleted.", path, op.file.Path)
		case op.hits(path):
			freed += f.Size
		}
	}
	for path := range now {
		if op.hits(path) {
			delete(now, path)
		}
	}
	return freed, nil
}
