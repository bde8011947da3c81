package tools

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
)

// The limits of clients' tools.
const (
	// MaxClientTools is how many an agent or a session may declare.
	MaxClientTools = 64
	// MaxClientSchemaBytes bounds the schema of one, MaxClientDescriptionBytes its description.
	MaxClientSchemaBytes      = 64 << 10
	MaxClientDescriptionBytes = 4 << 10
	// MaxClientTimeoutSeconds bounds how long a call may wait for its result: 30 days.
	MaxClientTimeoutSeconds = 30 * 24 * 60 * 60

	maxDisplayNameBytes = 200
)

// clientPrefix begins the ids of clients' tools, and of no other ones.
const clientPrefix = "client."

// ClientToolID returns the id of the client's tool of a name.
func ClientToolID(name string) string { return clientPrefix + name }

// ValidateClientTools checks the client tools that an agent or a session declares. The failure is a *fault.Error whose path
// begins with the position.
func (r *Registry) ValidateClientTools(list []models.ClientTool) error {
	_, err := r.clientTools(list, "the client")
	if err != nil {
		return err
	}
	return nil
}

// clientTools checks declared tools and returns them in the form of all tools. source names where they come from.
func (r *Registry) clientTools(list []models.ClientTool, source string) ([]*registered, *fault.Error) {
	if len(list) > MaxClientTools {
		return nil, fault.New(fault.Invalid, "There are %d client tools; at most %d can be declared.", len(list), MaxClientTools)
	}
	all := make([]*registered, len(list))
	for i, t := range list {
		at := strconv.Itoa(i)
		if first := slices.IndexFunc(list[:i], func(o models.ClientTool) bool { return o.Name == t.Name }); first >= 0 {
			return nil, fault.New(fault.Invalid, "The client tools %d and %d both have the name %q. Names must differ.",
				first, i, Shorten(t.Name, 64)).At(at, "name")
		}
		reg, f := r.clientTool(t, source)
		if f != nil {
			return nil, f.At(append([]string{at}, f.Path...)...)
		}
		all[i] = reg
	}
	return all, nil
}

func (r *Registry) clientTool(t models.ClientTool, source string) (*registered, *fault.Error) {
	invalid := func(field, format string, args ...any) (*registered, *fault.Error) {
		return nil, fault.New(fault.Invalid, format, args...).At(field)
	}
	display := strings.TrimSpace(t.DisplayName)
	if display == "" {
		display = t.Name
	}
	switch {
	case !toolName.MatchString(t.Name):
		return invalid("name", "The name %q can't be used: providers take 1 to 64 letters, digits, _ and -.",
			Shorten(strings.ToValidUTF8(t.Name, "\uFFFD"), 64))
	case !text.Storable(display) || len(display) > maxDisplayNameBytes:
		return invalid("displayName", "The display name must be text of at most %d bytes.", maxDisplayNameBytes)
	case strings.TrimSpace(t.Description) == "":
		return invalid("description", "The tool %s needs a description: it is all that the model knows about it.", t.Name)
	case !text.Storable(t.Description) || len(t.Description) > MaxClientDescriptionBytes:
		return invalid("description", "The description of %s must be text of at most %d bytes.", t.Name, MaxClientDescriptionBytes)
	case len(t.InputSchema) > MaxClientSchemaBytes:
		return invalid("inputSchema", "The schema of %s has %d bytes; at most %d are allowed.", t.Name, len(t.InputSchema), MaxClientSchemaBytes)
	case t.TimeoutSeconds != nil && (*t.TimeoutSeconds < 1 || *t.TimeoutSeconds > MaxClientTimeoutSeconds):
		return invalid("timeoutSeconds", "The timeout of %s must be between 1 and %d seconds.", t.Name, MaxClientTimeoutSeconds)
	}
	s, err := r.compiled.get(json.RawMessage(t.InputSchema))
	if err != nil {
		return invalid("inputSchema", "The schema of the tool %s can't be used: %s.", t.Name, oneLine(err.Error(), 300))
	}
	manifest := Manifest{
		ID: ClientToolID(t.Name), Name: t.Name, DisplayName: display, Description: t.Description,
		Hints: Hints{Client: true, OpenWorld: true}, InputSchema: slices.Clone(json.RawMessage(t.InputSchema)),
	}
	return &registered{tool: clientTool{manifest}, manifest: manifest, schema: s, capability: source}, nil
}

// clientTool stands for a tool that the client runs.
type clientTool struct{ manifest Manifest }

// Manifest implements Tool.
func (t clientTool) Manifest() Manifest { return t.manifest }

// Execute implements Tool. The engine asks the client instead.
func (t clientTool) Execute(context.Context, *Call, json.RawMessage) Result {
	return Result{Internal: fmt.Errorf("%s is run by the client, not here", t.manifest.ID)}
}

// maxCompiled is how many schemas of clients' tools are kept compiled: those of the agents that are at work.
const maxCompiled = 1024

// schemaCache keeps compiled schemas by their content. They come from tenants, so they are checked more than our own.
type schemaCache struct {
	known *lru.Cache[[sha256.Size]byte, *schema]
}

func newSchemaCache() *schemaCache {
	// The size is positive, which is all that New can complain about.
	known, err := lru.New[[sha256.Size]byte, *schema](maxCompiled)
	if err != nil {
		panic(err)
	}
	return &schemaCache{known: known}
}

func (c *schemaCache) get(source json.RawMessage) (*schema, error) {
	key := sha256.Sum256(source)
	if s, ok := c.known.Get(key); ok {
		return s, nil
	}
	if err := checkForeignSchema(source); err != nil {
		return nil, err
	}
	s, err := compileSchema("it", source)
	if err != nil {
		return nil, err
	}
	c.known.Add(key, s)
	return s, nil
}
