// Package files holds the tools that work on the session's filesystem.
package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/tools"
)

// ID is the capability's id.
const ID = "files"

// ConcurrencyClass is that of every tool that touches the session's workspace: their calls keep their order, so that
// a model may write and read a file in one response.
const ConcurrencyClass = "session_workspace"

// contentBudget is how much of a result content may take, as it is written in JSON. What else belongs to a result
// – the longest path, hash, hints – fits beside it below tools.MaxResultBytes.
const contentBudget = 60 << 10

// Capability returns the capability files.
func Capability() tools.Capability {
	return tools.Capability{
		ID:          ID,
		Name:        "Files",
		Description: "Read, write, edit and search the files of the session.",
		Risk:        "LOW",
		Prompt: "You have files under /workspace; relative paths are below it. Look before you change: list_directory and " +
			"grep_files find things, read_file gives content and its hash. Prefer edit_file for changes to existing " +
			"files. Pass expected_hash when the file must not have changed since you read it.",
		Tools: []tools.Tool{
			readFile(), readManyFiles(), writeFile(), editFile(), listDirectory(), grepFiles(), deleteFile(), statFile(),
		},
	}
}

// The hints of tools that read, and of those that write. A tool's writes commit together with its result, or not at
// all, so an attempt whose outcome is unknown has done nothing and may run again: also writing is repeatable.
var (
	reads  = tools.Hints{ReadOnly: true, Idempotent: true, ConcurrencyClass: ConcurrencyClass}
	writes = tools.Hints{Destructive: true, Idempotent: true, ConcurrencyClass: ConcurrencyClass}
)

// Parts of the input schemas.
const (
	pathSchema = `{"type": "string", "minLength": 1, "description": "Path below /workspace, e.g. src/main.go."}`
	hashSchema = `{"type": "string", "pattern": "^[0-9a-fA-F]{64}$", "description": "SHA-256 that the file must still have, as read_file returned it."}`
)

// spec is a tool over files. It differs from tools.Spec in that failures are errors.
type spec[A any] struct {
	manifest tools.Manifest
	// prepare normalizes arguments.
	prepare func(args *A) error
	execute func(ctx context.Context, files tools.Files, args A) (any, error)
	// doing and did are the line for people, about the target.
	doing, did string
	target     func(args A) string
}

func define[A any](s spec[A]) tools.Tool {
	return tools.Define(tools.Spec[A]{
		Manifest: s.manifest,
		Prepare: func(_ context.Context, _ *tools.Call, args *A) *tools.Result {
			if err := s.prepare(args); err != nil {
				r := failure(err)
				return &r
			}
			return nil
		},
		Execute: func(ctx context.Context, call *tools.Call, args A) tools.Result {
			if call.Files == nil {
				return tools.Fail("files_disabled: Files are disabled on this server. Work without them.")
			}
			// A hook may have rewritten what was prepared.
			if err := s.prepare(&args); err != nil {
				return failure(err)
			}
			v, err := s.execute(ctx, call.Files, args)
			if err != nil {
				return failure(err)
			}
			return tools.Success(v)
		},
		Narrate: func(args A, done bool, _ string) string {
			if done {
				return s.did + " " + s.target(args)
			}
			return s.doing + " " + s.target(args)
		},
	})
}

func manifest(name, display, description string, hints tools.Hints, schema string) tools.Manifest {
	return tools.Manifest{
		ID: ID + "." + name, Name: name, DisplayName: display, Description: description, Hints: hints,
		InputSchema: json.RawMessage(schema),
	}
}

// refusal is a failure of a tool that is not one of the filesystem.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.message }

func refuse(code, format string, args ...any) error {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// explain returns code and text of an error that the model can act on.
func explain(err error) (code, message string, ok bool) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.code, r.message, true
	}
	if p, ok := errors.AsType[*tools.PathError](err); ok {
		if advice := advise(p.Code); advice != "" {
			return p.Code, p.Message + " " + advice, true
		}
		return p.Code, p.Message, true
	}
	return "", "", false
}

func failure(err error) tools.Result {
	code, message, ok := explain(err)
	if !ok {
		return tools.Result{Internal: err}
	}
	return tools.Fail(code + ": " + message)
}

// advise tells a model what to do about a code; the messages themselves are also for users of the API.
func advise(code string) string {
	switch code {
	case "not_found":
		return "Use list_directory to see what is there."
	case "is_directory":
		return "Pass the path of a file, or use list_directory."
	case "not_directory":
		return "Pass the path of a directory."
	case "not_empty":
		return "Set recursive to true to delete it with all that is in it."
	case "conflict":
		return "Read the file again, and repeat the change with its new hash if it still applies."
	case "readonly":
		return "Write to another path."
	case "too_large", "quota_exceeded":
		return "Write less, or delete files that are no longer needed."
	default:
		return ""
	}
}

// normalize makes the path the one that is stored; an empty one becomes the default.
func normalize(path *string, otherwise string) error {
	if *path == "" {
		*path = otherwise
	}
	n, err := tools.NormalizePath(*path)
	if err != nil {
		return err
	}
	*path = n
	return nil
}

// shown is a path for people: without the root that all know.
func shown(path string) string {
	n, err := tools.NormalizePath(path)
	if err != nil {
		return tools.Shorten(path, 80)
	}
	return strings.TrimPrefix(n, tools.WorkspaceRoot+"/")
}
