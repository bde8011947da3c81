package models

// Value returns what a nullable column holds; the zero value for NULL.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Same reports whether two nullable columns hold the same.
func Same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
