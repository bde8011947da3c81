package files

import (
	"sort"

	"github.com/pmezard/go-difflib/difflib"
)

// maxComparisons bounds the work on one stretch of changed lines; beyond it the stretch counts as replaced whole.
const maxComparisons = 250_000

// compareLines returns how b was made from a, in order and without gaps. Lines that occur once in both are where the
// texts are tied together (patience diff); only between them are lines compared with each other, which costs more
// than their number.
func compareLines(a, b []string) []op {
	c := comparison{a: a, b: b}
	i, j := 0, 0
	for _, at := range anchors(a, b) {
		c.between(i, at.a, j, at.b)
		c.add(op{equal: true, a0: at.a, a1: at.a + 1, b0: at.b, b1: at.b + 1})
		i, j = at.a+1, at.b+1
	}
	c.between(i, len(a), j, len(b))
	return c.ops
}

type comparison struct {
	a, b []string
	ops  []op
}

// add joins an operation to the last one where both are of a kind.
func (c *comparison) add(o op) {
	if o.a0 == o.a1 && o.b0 == o.b1 {
		return
	}
	if n := len(c.ops); n > 0 && c.ops[n-1].equal == o.equal {
		c.ops[n-1].a1, c.ops[n-1].b1 = o.a1, o.b1
		return
	}
	c.ops = append(c.ops, o)
}

func (c *comparison) between(a0, a1, b0, b1 int) {
	start := a0
	for a0 < a1 && b0 < b1 && c.a[a0] == c.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	c.add(op{equal: true, a0: start, a1: a0, b0: b0 - (a0 - start), b1: b0})
	same := 0
	for a1-same > a0 && b1-same > b0 && c.a[a1-1-same] == c.b[b1-1-same] {
		same++
	}
	a1, b1 = a1-same, b1-same
	switch {
	case a0 == a1 || b0 == b1 || (a1-a0)*(b1-b0) > maxComparisons:
		c.add(op{a0: a0, a1: a1, b0: b0, b1: b1})
	default:
		for _, o := range difflib.NewMatcher(c.a[a0:a1], c.b[b0:b1]).GetOpCodes() {
			c.add(op{equal: o.Tag == 'e', a0: a0 + o.I1, a1: a0 + o.I2, b0: b0 + o.J1, b1: b0 + o.J2})
		}
	}
	c.add(op{equal: true, a0: a1, a1: a1 + same, b0: b1, b1: b1 + same})
}

// pair is a line of a that is a line of b.
type pair struct{ a, b int }

// anchors returns the longest chain of lines that occur once in each text and are in the same order in both.
func anchors(a, b []string) []pair {
	type seen struct{ inA, inB, atA, atB int }
	lines := make(map[string]*seen, len(a))
	note := func(l string) *seen {
		s := lines[l]
		if s == nil {
			s = &seen{}
			lines[l] = s
		}
		return s
	}
	for i, l := range a {
		s := note(l)
		s.inA, s.atA = s.inA+1, i
	}
	for j, l := range b {
		s := note(l)
		s.inB, s.atB = s.inB+1, j
	}
	var unique []pair
	for i, l := range a {
		if s := lines[l]; s.inA == 1 && s.inB == 1 {
			unique = append(unique, pair{i, s.atB})
		}
	}
	return longestRising(unique)
}

// longestRising returns the longest part of pairs, which rise in a, that rises in b, too.
func longestRising(pairs []pair) []pair {
	// ends[k] is the index of the smallest pair that ends a chain of k+1; before leads back along a chain.
	var ends []int
	before := make([]int, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]].b >= p.b })
		before[i] = -1
		if k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, i)
		} else {
			ends[k] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	chain := make([]pair, len(ends))
	for k, i := len(ends)-1, ends[len(ends)-1]; k >= 0; k, i = k-1, before[i] {
		chain[k] = pairs[i]
	}
	return chain
}
