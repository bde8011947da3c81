package simulated

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/llm"
)

// maxTokenRunes bounds a token, its leading space included.
const maxTokenRunes = 6

// bytesPerInputToken is how much text counts as one token of input.
const bytesPerInputToken = 4

type runeClass uint8

const (
	classSpace runeClass = iota
	classWord
	classOther
)

func classOf(r rune) runeClass {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		return classWord
	case r == ' ', r >= '\t' && r <= '\r':
		return classSpace
	case r < utf8.RuneSelf:
		return classOther
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return classWord
	case unicode.IsSpace(r):
		return classSpace
	}
	return classOther
}

// tokenLen returns the length in bytes of the first token of s, 0 when s is empty. A token is a run of characters of one
// class (letters and digits, spaces, all others), with the single space before it, and at most maxTokenRunes long.
func tokenLen(s string) int {
	if s == "" {
		return 0
	}
	end, runes := 0, 0
	r, size := utf8.DecodeRuneInString(s)
	class := classOf(r)
	if r == ' ' && len(s) > 1 {
		if after, n := utf8.DecodeRuneInString(s[1:]); classOf(after) != classSpace {
			end, runes = 1, 1
			size, class = n, classOf(after)
		}
	}
	for {
		end, runes = end+size, runes+1
		if runes == maxTokenRunes || end == len(s) {
			return end
		}
		if r, size = utf8.DecodeRuneInString(s[end:]); classOf(r) != class {
			return end
		}
	}
}

// countTokens returns the number of tokens of s as output.
func countTokens(s string) int {
	n := 0
	for s != "" {
		s = s[tokenLen(s):]
		n++
	}
	return n
}

// inputTokens estimates what a request takes in: its texts by length, not by token. A real model doesn't spend our
// processor on counting the conversation at every call, so a simulated one must not either.
func inputTokens(req *llm.Request) int64 {
	n := estimate(len(req.System))
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			n += estimate(len(p.Text)) + estimate(len(p.ToolName)+len(p.Arguments)) + estimate(len(p.Result)+len(p.Error))
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		n += estimate(len(t.Name) + len(t.Description) + len(t.InputSchema))
	}
	return n
}

func estimate(bytes int) int64 {
	return int64((bytes + bytesPerInputToken - 1) / bytesPerInputToken)
}

// loremCycle begins with a space so that it can be repeated without changing its tokens.
const loremCycle = " Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et" +
	" dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea" +
	" commodo consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla" +
	" pariatur. Excepteur sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est" +
	" laborum."

// lorem returns a text of exactly n tokens.
func lorem(n int) string {
	perCycle := countTokens(loremCycle)
	rest := 0
	for range n % perCycle {
		rest += tokenLen(loremCycle[rest:])
	}
	var b strings.Builder
	b.Grow(n/perCycle*len(loremCycle) + rest)
	for range n / perCycle {
		b.WriteString(loremCycle)
	}
	b.WriteString(loremCycle[:rest])
	return strings.TrimPrefix(b.String(), " ")
}
