package simulated

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ostler-dev/ostler/internal/jsonx"
)

const (
	// maxScriptBytes bounds a script, which is read at every call; YAML is slow to read.
	maxScriptBytes = 256 << 10
	maxScriptDepth = 64
)

type nodeKind int

const (
	nodeNull nodeKind = iota
	nodeBool
	nodeNumber
	nodeString
	nodeList
	nodeObject
)

func (k nodeKind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// node is a piece of a document, the same for JSON and YAML. It keeps the order of keys, so that arguments come out
// as they were written.
type node struct {
	kind nodeKind
	// text is the scalar: numbers as JSON writes them, "true" or "false".
	text  string
	keys  []string
	items []*node
	// seen holds the keys once more, to find repeated ones without a search for each.
	seen map[string]bool
}

// parseTree reads JSON, or else YAML. JSON has its own reader because YAML's refuses some of its escapes and tabs.
func parseTree(text []byte) (*node, error) {
	if len(text) > maxScriptBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxScriptBytes)
	}
	n, jsonErr := parseJSON(text)
	if jsonErr == nil {
		return n, nil
	}
	n, err := parseYAML(text)
	if err != nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return nil, jsonErr
	}
	return n, err
}

func parseJSON(text []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := jsonNode(d, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("not valid JSON at byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not valid JSON: something follows the document at byte %d", d.InputOffset())
	}
	return n, nil
}

func jsonNode(d *json.Decoder, depth int) (*node, error) {
	if depth > maxScriptDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxScriptDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		return &node{kind: nodeNull}, nil
	case bool:
		return &node{kind: nodeBool, text: strconv.FormatBool(t)}, nil
	case json.Number:
		return &node{kind: nodeNumber, text: t.String()}, nil
	case string:
		return &node{kind: nodeString, text: t}, nil
	}
	n := &node{kind: nodeList}
	if token == json.Delim('{') {
		n.kind = nodeObject
	}
	for d.More() {
		if n.kind == nodeObject {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string) // the decoder refuses other keys
			if err := n.addKey(name); err != nil {
				return nil, err
			}
		}
		item, err := jsonNode(d, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err = d.Token() // the closing bracket
	return n, err
}

func parseYAML(text []byte) (*node, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("not valid YAML: there must be one document and nothing after it")
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("not valid YAML: the document is empty")
	}
	n, err := yamlNode(doc.Content[0], 0)
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	return n, nil
}

func yamlNode(y *yaml.Node, depth int) (*node, error) {
	if depth > maxScriptDepth {
		return nil, fmt.Errorf("line %d: nested deeper than %d", y.Line, maxScriptDepth)
	}
	n := &node{}
	switch y.Kind {
	case yaml.ScalarNode:
		return yamlScalar(y)
	case yaml.SequenceNode:
		n.kind = nodeList
	case yaml.MappingNode:
		n.kind = nodeObject
	default:
		// Aliases would let a small script become a huge one.
		return nil, fmt.Errorf("line %d: aliases are not allowed", y.Line)
	}
	for i := 0; i < len(y.Content); i++ {
		if n.kind == nodeObject {
			if y.Content[i].Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: a key must be a text", y.Content[i].Line)
			}
			if err := n.addKey(y.Content[i].Value); err != nil {
				return nil, fmt.Errorf("line %d: %w", y.Content[i].Line, err)
			}
			i++
		}
		item, err := yamlNode(y.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

func yamlScalar(y *yaml.Node) (*node, error) {
	switch tag := y.ShortTag(); tag {
	case "!!null":
		return &node{kind: nodeNull}, nil
	case "!!str", "!!timestamp":
		return &node{kind: nodeString, text: strings.ToValidUTF8(y.Value, "\uFFFD")}, nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := y.Decode(&v); err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case bool:
			return &node{kind: nodeBool, text: strconv.FormatBool(v)}, nil
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("line %d: %s is not a number", y.Line, y.Value)
			}
			return &node{kind: nodeNumber, text: strconv.FormatFloat(v, 'g', -1, 64)}, nil
		case int, int64, uint64:
			return &node{kind: nodeNumber, text: fmt.Sprint(v)}, nil
		}
		return nil, fmt.Errorf("line %d: %s can't be read", y.Line, y.Value)
	default:
		return nil, fmt.Errorf("line %d: the tag %s is not allowed", y.Line, tag)
	}
}

func (n *node) addKey(key string) error {
	if n.seen[key] {
		return fmt.Errorf("the field %q is there twice", key)
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[key] = true
	n.keys = append(n.keys, key)
	return nil
}

// json writes the node compactly.
func (n *node) json(b *strings.Builder) {
	switch n.kind {
	case nodeNull:
		b.WriteString("null")
	case nodeBool, nodeNumber:
		b.WriteString(n.text)
	case nodeString:
		b.WriteString(marshal(n.text))
	case nodeList, nodeObject:
		brackets := "[]"
		if n.kind == nodeObject {
			brackets = "{}"
		}
		b.WriteByte(brackets[0])
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.kind == nodeObject {
				b.WriteString(marshal(n.keys[i]))
				b.WriteByte(':')
			}
			item.json(b)
		}
		b.WriteByte(brackets[1])
	}
}

// marshal returns v as JSON without the escapes that are only for HTML: people read it as it streams.
func marshal(v any) string {
	return string(jsonx.MustEncode(v)) // only texts, and structs of them, are ever given
}
