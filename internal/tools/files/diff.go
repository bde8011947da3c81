package files

import (
	"fmt"
	"strings"

	"github.com/ostler-dev/ostler/internal/tools"
)

// maxDiffLines bounds the lines that are compared; nobody reads a diff of more.
const maxDiffLines = 200_000

// diffContext is how many lines are shown around a change.
const diffContext = 3

// unifiedDiff returns the difference of two texts as programs like patch read it. Only what changed is looked at line
// by line, so a small edit of a large file is cheap. Beyond the budget whole lines are left out at the end, and cut
// tells so.
func unifiedDiff(path, before, after string, budget int) (diff string, cut bool) {
	head, tail := commonEnds(before, after)
	first := strings.Count(before[:head], "\n")
	changedFrom, changedTo := before[head:len(before)-tail], after[head:len(after)-tail]
	if strings.Count(changedFrom, "\n")+strings.Count(changedTo, "\n") > maxDiffLines {
		return "", true
	}
	a, b := splitLines(changedFrom), splitLines(changedTo)

	var out strings.Builder
	write := func(s string) bool {
		if budget -= tools.EncodedLen(s); budget < 0 {
			return false
		}
		out.WriteString(s)
		return true
	}
	if !write("--- " + path + "\n+++ " + path + "\n") {
		return "", true
	}
	for _, h := range hunks(compareLines(a, b)) {
		from, to := h[0], h[len(h)-1]
		header := fmt.Sprintf("@@ -%s +%s @@\n", hunkRange(first+from.a0, to.a1-from.a0), hunkRange(first+from.b0, to.b1-from.b0))
		if !write(header) {
			return out.String(), true
		}
		for _, o := range h {
			for _, l := range o.lines(a, b) {
				if !write(l) {
					return out.String(), true
				}
			}
		}
	}
	return out.String(), false
}

// commonEnds returns how many bytes at the beginning and at the end both texts share, in whole lines and short of
// diffContext lines, which a diff shows.
func commonEnds(a, b string) (head, tail int) {
	most := min(len(a), len(b))
	for head < most && a[head] == b[head] {
		head++
	}
	for tail < most-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	// The head ends, and the tail begins, where a line does in both.
	head = strings.LastIndexByte(a[:head], '\n') + 1
	for range diffContext {
		if head > 0 {
			head = strings.LastIndexByte(a[:head-1], '\n') + 1
		}
	}
	rest := a[len(a)-tail:]
	for range diffContext + 1 {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return head, 0
		}
		rest = rest[i+1:]
	}
	return head, len(rest)
}

// splitLines returns the lines with their ends.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// hunkRange writes where a hunk is, as unified diffs have it: an empty range names the line before it.
func hunkRange(start, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprintf("%d", start+1)
	default:
		return fmt.Sprintf("%d,%d", start+1, count)
	}
}

// op says that the lines a0 to a1 of the one text are those from b0 to b1 of the other: equal or replaced.
type op struct {
	equal          bool
	a0, a1, b0, b1 int
}

func (o op) lines(a, b []string) []string {
	if o.equal {
		return marked(nil, " ", a[o.a0:o.a1])
	}
	return marked(marked(nil, "-", a[o.a0:o.a1]), "+", b[o.b0:o.b1])
}

func marked(into []string, mark string, lines []string) []string {
	for _, l := range lines {
		if !strings.HasSuffix(l, "\n") {
			l += "\n\\ No newline at end of file\n"
		}
		into = append(into, mark+l)
	}
	return into
}

// hunks groups operations: changes with the context around them, one group where contexts touch.
func hunks(ops []op) [][]op {
	var groups [][]op
	var group []op
	for i, o := range ops {
		if !o.equal {
			group = append(group, o)
			continue
		}
		n := o.a1 - o.a0
		last := i == len(ops)-1
		if len(group) > 0 && !last && n <= 2*diffContext {
			group = append(group, o)
			continue
		}
		if len(group) > 0 {
			k := min(n, diffContext)
			group = append(group, op{equal: true, a0: o.a0, a1: o.a0 + k, b0: o.b0, b1: o.b0 + k})
			groups, group = append(groups, group), nil
		}
		if !last {
			k := min(n, diffContext)
			group = []op{{equal: true, a0: o.a1 - k, a1: o.a1, b0: o.b1 - k, b1: o.b1}}
		}
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	return groups
}
