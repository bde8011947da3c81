package models

import (
	"slices"
	"strings"
	"unicode"
)

// Words returns the words of a text that searches compare: runs of letters, digits and the marks on them, in lower case, sorted, each once.
func Words(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !InWord(r) })
	slices.Sort(words)
	return slices.Compact(words)
}

// InWord reports whether a character is part of a word.
func InWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// Words returns what searches find the session by: the words of its title and of its customer key.
func (s *Session) Words() []string {
	var texts []string
	for _, text := range []*string{s.Title, s.CustomerKey} {
		if text != nil {
			texts = append(texts, *text)
		}
	}
	return Words(strings.Join(texts, " "))
}
