package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

// maxForeignNodes is how many subschemas a tenant's schema may have when all its references are written out. Checking a
// value can't take more steps than that for each part of the value. A few hundred bytes of references that double each
// other would otherwise keep a processor busy for years.
const maxForeignNodes = 2000

// checkForeignSchema refuses a tenant's schema that would cost too much to check values against, before it is compiled.
// References lead within the document and in no circle.
func checkForeignSchema(source json.RawMessage) error {
	doc, err := jsonx.Normalized(source)
	if err != nil {
		return err
	}
	w := weigher{root: doc, known: map[string]int{}, open: map[string]bool{}}
	_, err = w.weigh(doc)
	return err
}

// The keywords that hold subschemas: one, a list, or a map of them.
var (
	oneSchema = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames",
		"then", "unevaluatedItems", "unevaluatedProperties",
	}
	listOfSchemas = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	mapOfSchemas  = []string{"dependencies", "dependentSchemas", "patternProperties", "properties"}
	// unused change what references mean, which weigh doesn't follow.
	unused = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "id"}
)

// weigher counts the subschemas of a document with its references written out.
type weigher struct {
	root any
	// known has the weights behind references, open the references that are being followed.
	known map[string]int
	open  map[string]bool
}

func (w *weigher) weigh(node any) (int, error) {
	object, ok := node.(map[string]any)
	if !ok {
		return 1, nil
	}
	total := 1
	add := func(sub any) error {
		n, err := w.weigh(sub)
		if err != nil {
			return err
		}
		if total += n; total > maxForeignNodes {
			return fmt.Errorf("it has more than %d subschemas, with its references written out", maxForeignNodes)
		}
		return nil
	}
	for _, k := range unused {
		if _, ok := object[k].(string); ok {
			return 0, fmt.Errorf("%s is not supported; write references as #/$defs/name", k)
		}
	}
	for _, sub := range subschemas(object) {
		if err := add(sub); err != nil {
			return 0, err
		}
	}
	if ref, ok := object["$ref"].(string); ok {
		n, err := w.follow(ref)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxForeignNodes {
			return 0, fmt.Errorf("it has more than %d subschemas, with its references written out", maxForeignNodes)
		}
	}
	return total, nil
}

func subschemas(object map[string]any) []any {
	var subs []any
	for _, k := range oneSchema {
		if sub, ok := object[k].(map[string]any); ok {
			subs = append(subs, sub)
		}
	}
	for _, k := range listOfSchemas {
		if list, ok := object[k].([]any); ok {
			subs = append(subs, list...)
		}
	}
	for _, k := range mapOfSchemas {
		if byName, ok := object[k].(map[string]any); ok {
			for _, sub := range byName {
				subs = append(subs, sub)
			}
		}
	}
	return subs
}

func (w *weigher) follow(ref string) (int, error) {
	if n, ok := w.known[ref]; ok {
		return n, nil
	}
	if w.open[ref] {
		return 0, fmt.Errorf("the reference %s leads back to itself; schemas of client tools can't be recursive", Shorten(ref, 100))
	}
	target, err := lookUp(w.root, ref)
	if err != nil {
		return 0, fmt.Errorf("the reference %s: %w", Shorten(ref, 100), err)
	}
	w.open[ref] = true
	n, err := w.weigh(target)
	delete(w.open, ref)
	if err != nil {
		return 0, err
	}
	w.known[ref] = n
	return n, nil
}

// lookUp follows a JSON pointer within a document.
func lookUp(node any, ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, errors.New("only references within the document are supported, as #/$defs/name")
	}
	if pointer == "" {
		return node, nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := node.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return nil, errors.New("it leads to nothing")
			}
			node = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, errors.New("it leads to nothing")
			}
			node = v[i]
		default:
			return nil, errors.New("it leads to nothing")
		}
	}
	return node, nil
}
