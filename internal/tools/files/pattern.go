package files

import (
	"regexp"
	"regexp/syntax"
)

const (
	// maxPatternBytes bounds a pattern.
	maxPatternBytes = 1 << 10
	// maxPatternCost bounds what a pattern compiles to: a few characters like (a{99}){99} make a huge program, and
	// the time of a search is its size times the text.
	maxPatternCost = 5000
)

// pattern is a compiled regular expression with what one byte of text may cost it.
type pattern struct {
	re   *regexp.Regexp
	cost int
}

func compilePattern(expr string, ignoreCase bool) (pattern, error) {
	if len(expr) > maxPatternBytes {
		return pattern{}, refuse("invalid_pattern", "The pattern has %d bytes; at most %d are allowed.", len(expr), maxPatternBytes)
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return pattern{}, refuse("invalid_pattern", "The pattern is not valid RE2: %v. Escape special characters with a backslash to search for them as they are.", err)
	}
	// Asked before it is compiled, which is where the size would hurt first.
	cost := patternCost(tree)
	if cost > maxPatternCost {
		return pattern{}, refuse("invalid_pattern", "The pattern is too complex. Use smaller repetitions.")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return pattern{}, refuse("invalid_pattern", "The pattern is not valid RE2: %v.", err)
	}
	if _, whole := re.LiteralPrefix(); whole {
		// A plain text is looked for as such.
		cost = 1
	}
	return pattern{re: re, cost: cost}, nil
}

// patternCost estimates from above how many instructions an expression compiles to, up to a little over the bound.
func patternCost(re *syntax.Regexp) int {
	sum := 1
	if re.Op == syntax.OpLiteral {
		sum += len(re.Rune)
	}
	for _, sub := range re.Sub {
		sum = min(sum+1+patternCost(sub), maxPatternCost+1)
	}
	if re.Op == syntax.OpRepeat {
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		sum *= max(times, 1)
	}
	return min(sum, maxPatternCost+1)
}
