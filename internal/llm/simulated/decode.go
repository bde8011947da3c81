package simulated

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder reads values out of a tree, strictly. It keeps the first problem and gives zero values from then on, so that
// the code that uses it reads like the format.
type decoder struct{ err error }

func (d *decoder) failf(path, format string, args ...any) {
	if d.err != nil {
		return
	}
	if path == "" {
		path = "the script"
	}
	d.err = fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
}

// want reports whether n is there and of a kind.
func (d *decoder) want(n *node, path string, kind nodeKind) bool {
	switch {
	case d.err != nil:
	case n == nil:
		d.failf(path, "it is missing")
	case n.kind != kind:
		d.failf(path, "it must be %s, not %s", kind, n.kind)
	default:
		return true
	}
	return false
}

// object returns the fields of an object that may have those of names and no others.
func (d *decoder) object(n *node, path string, names ...string) map[string]*node {
	if !d.want(n, path, nodeObject) {
		return nil
	}
	fields := make(map[string]*node, len(n.keys))
	for i, k := range n.keys {
		if !slices.Contains(names, k) {
			d.failf(strings.TrimPrefix(path+"."+k, "."), "unknown field; known are %s", strings.Join(names, ", "))
			return nil
		}
		fields[k] = n.items[i]
	}
	return fields
}

// list returns the items of a list that isn't empty, each with its path.
func (d *decoder) list(n *node, path string, limit int) iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		if !d.want(n, path, nodeList) {
			return
		}
		if len(n.items) == 0 || len(n.items) > limit {
			d.failf(path, "it must have 1 to %d items, not %d", limit, len(n.items))
			return
		}
		for i, item := range n.items {
			if d.err != nil || !yield(path+"["+strconv.Itoa(i)+"]", item) {
				return
			}
		}
	}
}

func (d *decoder) text(n *node, path string) string {
	if !d.want(n, path, nodeString) {
		return ""
	}
	return n.text
}

// name reads a text that isn't empty.
func (d *decoder) name(n *node, path string) string {
	s := d.text(n, path)
	if s == "" {
		d.failf(path, "it must not be empty")
	}
	return s
}

func (d *decoder) boolean(n *node, path string) bool {
	return d.want(n, path, nodeBool) && n.text == "true"
}

func (d *decoder) integer(n *node, path string, low, high int64) int64 {
	if !d.want(n, path, nodeNumber) {
		return 0
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < low || v > high {
		d.failf(path, "it must be a whole number from %d to %d, not %s", low, high, n.text)
		return 0
	}
	return v
}

// millis reads a duration; the default when it isn't there.
func (d *decoder) millis(n *node, path string, otherwise time.Duration) time.Duration {
	if n == nil {
		return otherwise
	}
	return millis(int(d.integer(n, path, 0, maxMillis)))
}

// count reads a number of tokens; nil when it isn't there.
func (d *decoder) count(n *node, path string) *int64 {
	if n == nil {
		return nil
	}
	v := d.integer(n, path, 0, maxCount)
	return &v
}

// rawObject returns an object with any fields as JSON.
func (d *decoder) rawObject(n *node, path string) string {
	if !d.want(n, path, nodeObject) {
		return ""
	}
	var b strings.Builder
	n.json(&b)
	return b.String()
}
