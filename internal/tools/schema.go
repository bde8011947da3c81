package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxProblems bounds how many broken rules one message lists: a model mends a few at a time.
const maxProblems = 6

// schema is a compiled JSON Schema whose root is an object. It is safe for concurrent use.
type schema struct{ compiled *jsonschema.Schema }

// problem is a broken rule: Path leads to the value to blame, Rule is in words.
type problem struct {
	Path []string
	Rule string
}

// String returns the problem as one clause.
func (p problem) String() string {
	if len(p.Path) == 0 {
		return p.Rule
	}
	return fieldName(p.Path) + " " + p.Rule
}

func compileSchema(name string, source json.RawMessage) (*schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is not JSON: %w", name, err)
	}
	if root, ok := doc.(map[string]any); !ok || root["type"] != "object" {
		return nil, fmt.Errorf(`the schema of %s must be an object with "type": "object"`, name)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	// The default loader opens files of the host.
	c.UseLoader(noLoader{})
	const url = "ostler:schema"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", name, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is not valid: %w", name, err)
	}
	return &schema{compiled: compiled}, nil
}

// rootDefault returns the default of the whole value; nil when there is none. It follows the schema.
func (s *schema) rootDefault() (json.RawMessage, error) {
	if s.compiled.Default == nil {
		return nil, nil
	}
	if problems := s.check(*s.compiled.Default); len(problems) > 0 {
		return nil, errors.New(describe(problems))
	}
	return json.Marshal(*s.compiled.Default)
}

// check returns the broken rules, sorted by path. The value comes from jsonx.Normalized.
func (s *schema) check(v any) []problem {
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var broken *jsonschema.ValidationError
	if !errors.As(err, &broken) {
		return []problem{{Rule: err.Error()}}
	}
	problems := collect(nil, broken, message.NewPrinter(language.English))
	slices.SortStableFunc(problems, func(a, b problem) int { return slices.Compare(a.Path, b.Path) })
	problems = slices.CompactFunc(problems, func(a, b problem) bool { return a.String() == b.String() })
	if len(problems) == 0 {
		problems = []problem{{Rule: "must follow the schema"}}
	}
	return problems
}

func collect(into []problem, e *jsonschema.ValidationError, p *message.Printer) []problem {
	add := func(rule string, path ...string) {
		into = append(into, problem{Path: slices.Concat(e.InstanceLocation, path), Rule: rule})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add("is required", name)
		}
	case *kind.AdditionalProperties:
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			add("is not known", name)
		}
	case *kind.Type:
		add(fmt.Sprintf("must be of type %s, not %s", strings.Join(k.Want, " or "), k.Got))
	case *kind.Enum:
		add("must be one of " + listValues(k.Want))
	case *kind.Const:
		add("must be " + listValues([]any{k.Want}))
	case *kind.MinLength:
		add(fmt.Sprintf("must have at least %d characters, it has %d", k.Want, k.Got))
	case *kind.MaxLength:
		add(fmt.Sprintf("must have at most %d characters, it has %d", k.Want, k.Got))
	case *kind.MinItems:
		add(fmt.Sprintf("must have at least %d items, it has %d", k.Want, k.Got))
	case *kind.MaxItems:
		add(fmt.Sprintf("must have at most %d items, it has %d", k.Want, k.Got))
	case *kind.Minimum:
		add("must be at least " + k.Want.RatString())
	case *kind.Maximum:
		add("must be at most " + k.Want.RatString())
	case *kind.ExclusiveMinimum:
		add("must be more than " + k.Want.RatString())
	case *kind.ExclusiveMaximum:
		add("must be less than " + k.Want.RatString())
	case *kind.Pattern:
		add("must match the pattern " + k.Want)
	case *kind.UniqueItems:
		add(fmt.Sprintf("must not repeat items; items %d and %d are equal", k.Duplicates[0], k.Duplicates[1]))
	case *kind.AnyOf, *kind.OneOf:
		add("must have one of the forms that the schema allows")
	default:
		if len(e.Causes) == 0 {
			add("breaks a rule: " + e.ErrorKind.LocalizedString(p))
		}
	}
	for _, cause := range e.Causes {
		into = collect(into, cause, p)
	}
	return into
}

// describe joins problems to one text.
func describe(problems []problem) string {
	clauses := make([]string, 0, maxProblems+1)
	for i, p := range problems {
		if i == maxProblems {
			clauses = append(clauses, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		clauses = append(clauses, oneLine(p.String(), 300))
	}
	return strings.Join(clauses, "; ")
}

// fieldName writes a path as programs do: replacements[0].old.
func fieldName(path []string) string {
	var b strings.Builder
	for i, token := range path {
		if _, err := strconv.Atoi(token); err == nil && i > 0 {
			b.WriteString("[" + token + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(Shorten(token, 64))
	}
	return b.String()
}

func listValues(values []any) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = string(appendJSON(v))
	}
	return strings.Join(shown, ", ")
}

// appendJSON writes a value of a schema; those were decoded by the library, with numbers of any form.
func appendJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("?")
	}
	return b
}

// noLoader refuses to load schemas from anywhere.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema %s: references to other documents are not allowed", url)
}
