package sessions

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// maxListed bounds a listing of a directory.
const maxListed = 1000

// Workspace returns the files of sessions.
func (s *Service) Workspace() *Workspace { return s.workspace }

// Files lists the entries of a directory, or returns the one file at the path. There is nothing where there is no such path.
func (s *Service) Files(ctx context.Context, org models.OrgID, session models.SessionID, path string) ([]tools.File, error) {
	path, err := tools.NormalizePath(path)
	if err != nil {
		return nil, fileFault(err, "path")
	}
	o := s.workspace.Open(org, session)
	f, err := o.Stat(ctx, path)
	if err != nil {
		return nil, fileFault(err, "path")
	}
	if !f.Directory {
		return []tools.File{f}, nil
	}
	list, err := o.List(ctx, path, false, maxListed)
	return list, fileFault(err, "path")
}

// File returns a file with its content; the content is nil for directories.
func (s *Service) File(ctx context.Context, org models.OrgID, session models.SessionID, path string) (tools.File, []byte, error) {
	path, err := tools.NormalizePath(path)
	if err != nil {
		return tools.File{}, nil, fileFault(err, "path")
	}
	o := s.workspace.Open(org, session)
	f, err := o.Stat(ctx, path)
	if err != nil || f.Directory {
		return f, nil, fileFault(err, "path")
	}
	f, content, err := o.Read(ctx, path)
	return f, content, fileFault(err, "path")
}

// NewFile is a file to write. Encoding is text or base64.
type NewFile struct {
	SessionID    models.SessionID
	Path         string
	Content      string
	Encoding     string
	ExpectedHash *string
}

// WriteFile writes a file of a session, in the name of a user.
func (s *Service) WriteFile(ctx context.Context, by *auth.Principal, in NewFile) (tools.File, []byte, error) {
	content := []byte(in.Content)
	switch in.Encoding {
	case tools.EncodingText:
	case tools.EncodingBase64:
		var err error
		if content, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return tools.File{}, nil, fault.New(fault.Invalid, "The content is not base64: %v.", err).At("content")
		}
	default:
		return tools.File{}, nil, fault.New(fault.Invalid, "The encoding must be \"text\" or \"base64\".").At("encoding")
	}
	if _, err := s.Get(ctx, by.OrgID, in.SessionID); err != nil {
		return tools.File{}, nil, fault.At(err, "sessionId")
	}
	path, err := tools.NormalizePath(in.Path)
	if err != nil {
		return tools.File{}, nil, fileFault(err, "path")
	}
	changes := NewChanges()
	f, err := s.workspace.Overlay(by.OrgID, in.SessionID, changes).Write(ctx, path, content, in.ExpectedHash)
	if err != nil {
		return f, nil, fileFault(err, "path")
	}
	if err := s.cfg.Committer.Submit(ctx, &writeFile{org: by.OrgID, session: in.SessionID, changes: changes}); err != nil {
		return f, nil, fileFault(err, "path")
	}
	return f, content, nil
}

type writeFile struct {
	org     models.OrgID
	session models.SessionID
	changes *Changes
}

func (c *writeFile) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Files: c.changes.Needs(), Bytes: c.changes.Bytes()}
}

func (c *writeFile) Apply(tx *commit.Tx) error {
	if tx.Session == nil {
		return notFound(c.session)
	}
	return c.changes.Apply(tx, nil)
}

// fileFault turns a failed file operation into a failure of the request.
func fileFault(err error, path string) error {
	var p *tools.PathError
	if !errors.As(err, &p) {
		return err
	}
	code := fault.Invalid
	switch p.Code {
	case "not_found":
		code = fault.NotFound
	case "conflict":
		code = fault.Conflict
	case "quota_exceeded", "too_large":
		code = fault.LimitReached
	case "readonly":
		code = fault.Forbidden
	}
	return fault.New(code, "%s", p.Message).At(path)
}
