package store

import (
	"slices"
	"unicode/utf8"

	"gorm.io/gorm"
)

// Prefixed limits q to rows whose column starts with prefix. As a range of keys it uses an index on both databases, where PostgreSQL
// compares the column by bytes (COLLATE "C"), and no character has a special meaning.
func Prefixed(q *gorm.DB, column, prefix string) *gorm.DB {
	q = q.Where(column+" >= ?", prefix)
	if end := prefixEnd(prefix); end != "" {
		q = q.Where(column+" < ?", end)
	}
	return q
}

// prefixEnd returns the first text, by bytes, after all those that start with prefix; empty when there is none.
func prefixEnd(prefix string) string {
	runes := []rune(prefix)
	for i, last := range slices.Backward(runes) {
		next := last + 1
		if next == 0xD800 {
			// Surrogates are no characters: the next one follows them.
			next = 0xE000
		}
		if next <= utf8.MaxRune {
			return string(append(runes[:i:i], next))
		}
	}
	return ""
}
