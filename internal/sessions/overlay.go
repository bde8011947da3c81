package sessions

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Workspace provides tools, requests and models with the files of sessions.
type Workspace struct {
	db     *store.DB
	clock  clock.Clock
	limits *limits.Limits
}

// NewWorkspace makes a Workspace. The clock dates what is written until it is committed. Without limits organizations store any number of bytes.
func NewWorkspace(db *store.DB, c clock.Clock, of *limits.Limits) *Workspace {
	return &Workspace{db, c, of}
}

// Open returns the stored files, for reading: what is written through it is thrown away.
func (w *Workspace) Open(org models.OrgID, session models.SessionID) *Overlay {
	return w.Overlay(org, session, NewChanges())
}

// Overlay returns the stored files as seen by one call: overlaid with what it writes, which is collected in changes.
func (w *Workspace) Overlay(org models.OrgID, session models.SessionID, changes *Changes) *Overlay {
	return &Overlay{w: w, org: org, session: session, changes: changes}
}

// Overlay is a session's filesystem as one call sees it. It is for one goroutine.
type Overlay struct {
	w       *Workspace
	org     models.OrgID
	session models.SessionID
	changes *Changes
}

var _ tools.Files = (*Overlay)(nil)

func pathError(code, path, format string, args ...any) *tools.PathError {
	e := &tools.PathError{Code: code, Path: path, Message: fmt.Sprintf(format, args...)}
	switch code {
	case "not_found":
		e.Err = fs.ErrNotExist
	case "is_directory":
		e.Err = syscall.EISDIR
	}
	return e
}

// normalized refuses paths that should not have come this far: one entry must not have two names.
func normalized(path string) error {
	n, err := tools.NormalizePath(path)
	if err == nil && n != path {
		return pathError(tools.CodeInvalidPath, path, "The path %q is not normalized; the entry is %q.", path, n)
	}
	return err
}

// parents returns the directories above a path, outermost first, without the root.
func parents(path string) []string {
	var list []string
	for i, c := range path {
		if i > 0 && c == '/' && !tools.IsRoot(path[:i]) {
			list = append(list, path[:i])
		}
	}
	return list
}

func below(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// entry is what is at a path: a row, with the content when the call itself has written it.
type entry struct {
	models.SessionFile
	content []byte
}

// changed returns what the call has made of a path; known is false when it has not touched it. A nil entry means that it is gone.
func (c *Changes) changed(path string) (e *entry, known bool) {
	for _, op := range slices.Backward(c.ops) {
		switch {
		case op.file.Path == path && !op.remove:
			return &entry{op.file, op.content}, true
		case op.remove && (op.file.Path == path || (op.subtree && below(path, op.file.Path))):
			return nil, true
		case !op.remove && below(op.file.Path, path):
			return &entry{SessionFile: models.SessionFile{Path: path, Directory: true, UpdatedAt: op.file.UpdatedAt}}, true
		}
	}
	return nil, false
}

// lookup finds entries: in what the call has done, and the others in the database, by one statement. Paths without an entry are
// missing.
func (o *Overlay) lookup(ctx context.Context, paths ...string) (map[string]*entry, error) {
	found := make(map[string]*entry, len(paths))
	var stored []string
	for _, path := range paths {
		e, known := o.changes.changed(path)
		switch {
		case tools.IsRoot(path):
			found[path] = &entry{SessionFile: models.SessionFile{Path: path, Directory: true}}
		case !known:
			stored = append(stored, path)
		case e != nil:
			found[path] = e
		}
	}
	if len(stored) == 0 {
		return found, nil
	}
	rows, err := o.entriesAt(ctx, stored)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", stored[len(stored)-1], err)
	}
	for _, f := range rows {
		found[f.Path] = &entry{SessionFile: f}
	}
	return found, nil
}

// entriesAt reads entries from the database. One alone, which is what most calls ask for, is read by a prepared statement.
func (o *Overlay) entriesAt(ctx context.Context, paths []string) ([]models.SessionFile, error) {
	if len(paths) > 1 {
		var rows []models.SessionFile
		err := o.rows(ctx).Where("path IN ?", paths).Find(&rows).Error
		return rows, err
	}
	f := models.SessionFile{OrgID: o.org, SessionID: o.session, Path: paths[0]}
	err := o.w.db.QueryRow(ctx, o.org, `SELECT directory, readonly, size, hash, encoding, updated_at FROM session_files
WHERE org_id = ? AND session_id = ? AND path = ?`, o.org[:], o.session[:], f.Path).
		Scan(&f.Directory, &f.Readonly, &f.Size, &f.Hash, &f.Encoding, &f.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // lookup says what was read
	}
	return []models.SessionFile{f}, nil
}

func (o *Overlay) rows(ctx context.Context) *gorm.DB {
	return store.Of(o.w.db.Read(ctx, o.org), o.org).Where("session_id = ?", o.session)
}

// existing finds an entry that must be there.
func (o *Overlay) existing(ctx context.Context, path string) (*entry, error) {
	if err := normalized(path); err != nil {
		return nil, err
	}
	found, err := o.lookup(ctx, path)
	if err != nil {
		return nil, err
	}
	if found[path] == nil {
		return nil, pathError("not_found", path, "There is nothing at %s.", path)
	}
	return found[path], nil
}

// Stat implements tools.Files.
func (o *Overlay) Stat(ctx context.Context, path string) (tools.File, error) {
	e, err := o.existing(ctx, path)
	if err != nil {
		return tools.File{}, err
	}
	return describe(e.SessionFile), nil
}

func describe(f models.SessionFile) tools.File {
	return tools.File{
		Path: f.Path, Directory: f.Directory, ReadOnly: f.Readonly, Size: f.Size, Hash: hex.EncodeToString(f.Hash), UpdatedAt: f.UpdatedAt.Time(),
	}
}

// Read implements tools.Files.
func (o *Overlay) Read(ctx context.Context, path string) (tools.File, []byte, error) {
	e, err := o.existing(ctx, path)
	switch {
	case err != nil:
		return tools.File{}, nil, err
	case e.Directory:
		return tools.File{}, nil, pathError("is_directory", path, "%s is a directory.", path)
	case e.content != nil:
		return describe(e.SessionFile), slices.Clone(e.content), nil
	}
	content, err := storedContent(ctx, o.w.db, o.org, e.Hash, path)
	if err != nil {
		return tools.File{}, nil, err
	}
	return describe(e.SessionFile), content, nil
}

// Write implements tools.Files.
func (o *Overlay) Write(ctx context.Context, path string, content []byte, expectedHash *string) (tools.File, error) {
	if err := normalized(path); err != nil {
		return tools.File{}, err
	}
	if len(content) > MaxFileBytes {
		return tools.File{}, pathError("too_large", path, "%s would have %d bytes; at most %d are allowed.", path, len(content), MaxFileBytes)
	}
	found, err := o.lookup(ctx, append(parents(path), path)...)
	if err != nil {
		return tools.File{}, err
	}
	at := func(path string) *models.SessionFile {
		if e := found[path]; e != nil {
			return &e.SessionFile
		}
		return nil
	}
	if err := writable(path, at); err != nil {
		return tools.File{}, err
	}
	have := at(path)
	if err := expected(path, have, expectedHash); err != nil {
		return tools.File{}, err
	}
	if have != nil && have.Directory {
		return tools.File{}, pathError("is_directory", path, "%s is a directory.", path)
	}
	err = checkStorageQuota(ctx, o.w.db, o.w.limits, o.org, o.changes.bytes+len(content))
	if f := fault.As(err); f != nil {
		return tools.File{}, pathError("quota_exceeded", path, "%s", f.Message)
	}
	if err != nil {
		return tools.File{}, err
	}
	sum := sha256.Sum256(content)
	f := models.SessionFile{
		Path: path, Size: int64(len(content)), Hash: sum[:], Encoding: encodingOf(content), UpdatedAt: clock.Millis(o.w.clock),
	}
	if _, touched := o.changes.changed(path); touched {
		// Only the call's first change of a path is compared when it commits; the others follow upon it.
		expectedHash = nil
	}
	o.changes.write(f, content, expectedHash)
	return describe(f), nil
}

// writable refuses what can't be written or removed whatever is asked. at gives what is at a path, nil for nothing.
func writable(path string, at func(path string) *models.SessionFile) error {
	if tools.IsRoot(path) {
		return pathError("readonly", path, "%s is a root; it can't be replaced or deleted.", path)
	}
	for _, dir := range parents(path) {
		switch d := at(dir); {
		case d == nil:
		case !d.Directory:
			return pathError("not_directory", path, "%s is a file, so there can't be anything below it.", dir)
		case d.Readonly:
			return pathError("readonly", path, "%s is read-only, with all that is in it.", dir)
		}
	}
	if f := at(path); f != nil && f.Readonly {
		return pathError("readonly", path, "%s is read-only.", path)
	}
	return nil
}

// expected refuses an entry that does not have the hash; nil stands for any.
func expected(path string, have *models.SessionFile, hash *string) error {
	if hash == nil || (have != nil && !have.Directory && hex.EncodeToString(have.Hash) == *hash) {
		return nil
	}
	return pathError("conflict", path, "%s has changed: its hash is not %q. Read it again.",
		path, tools.Shorten(*hash, 64))
}

// encodingOf returns how content is shown: text where it is text.
func encodingOf(content []byte) string {
	if text.StorableBytes(content) {
		return tools.EncodingText
	}
	return tools.EncodingBase64
}

// Delete implements tools.Files.
func (o *Overlay) Delete(ctx context.Context, path string, recursive bool) error {
	e, err := o.existing(ctx, path)
	if err != nil {
		return err
	}
	found, err := o.lookup(ctx, parents(path)...)
	if err != nil {
		return err
	}
	found[path] = e
	err = writable(path, func(path string) *models.SessionFile {
		if e := found[path]; e != nil {
			return &e.SessionFile
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e.Directory {
		// The commit looks again, at all of them.
		inside, err := o.List(ctx, path, true, maxLookedAt)
		if err != nil {
			return err
		}
		if err := removable(path, recursive, inside); err != nil {
			return err
		}
	}
	o.changes.remove(path, recursive)
	return nil
}

// maxLookedAt bounds what is looked at below a directory before it is deleted.
const maxLookedAt = 10_000

func removable(path string, recursive bool, inside []tools.File) error {
	if len(inside) > 0 && !recursive {
		return pathError("not_empty", path, "The directory %s is not empty; delete it with recursive.", path)
	}
	for _, f := range inside {
		if f.ReadOnly {
			return pathError("readonly", f.Path, "%s is read-only, so %s can't be deleted.", f.Path, path)
		}
	}
	return nil
}
