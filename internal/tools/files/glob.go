package files

import (
	"path"
	"regexp"
	"strings"
)

// maxGlobBytes bounds a glob.
const maxGlobBytes = 256

// glob selects paths. A pattern without a slash is about names, one with a slash about the path below the directory
// that is searched, one that begins with a slash about the whole path.
type glob struct {
	re     *regexp.Regexp
	byName bool
	whole  bool
}

// compileGlob knows * and ? within a segment, ** across segments, [a-z], [!a-z] and {a,b}.
func compileGlob(pattern string) (*glob, error) {
	if len(pattern) > maxGlobBytes {
		return nil, refuse("invalid_glob", "The glob has %d bytes; at most %d are allowed.", len(pattern), maxGlobBytes)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	expr, err := globExpr(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, refuse("invalid_glob", "The glob %q is not valid.", pattern)
	}
	return &glob{re: re, byName: !strings.Contains(pattern, "/"), whole: strings.HasPrefix(pattern, "/")}, nil
}

// match takes a normalized path below the directory dir, or dir itself when that is a file.
func (g *glob) match(file, dir string) bool {
	switch {
	case g.byName:
		return g.re.MatchString(path.Base(file))
	case g.whole:
		return g.re.MatchString(file)
	default:
		return g.re.MatchString(strings.TrimPrefix(strings.TrimPrefix(file, dir), "/"))
	}
}

func globExpr(pattern string) (string, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	braces := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			class, n, err := globClass(rest)
			if err != nil {
				return "", err
			}
			b.WriteString(class)
			i += n - 1
		case c == '{' && braces:
			return "", refuse("invalid_glob", "The glob %q has braces within braces.", pattern)
		case c == '{':
			braces = true
			b.WriteString(`(?:`)
		case c == '}' && braces:
			braces = false
			b.WriteByte(')')
		case c == ',' && braces:
			b.WriteByte('|')
		case c < 0x80:
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
		default:
			b.WriteByte(c)
		}
	}
	if braces {
		return "", refuse("invalid_glob", "The glob %q has a { without }.", pattern)
	}
	b.WriteString(`\z`)
	return b.String(), nil
}

// globClass returns the expression of the class that s begins with, and how many bytes it takes.
func globClass(s string) (expr string, n int, err error) {
	end := strings.IndexByte(s, ']')
	body := ""
	if end > 0 {
		body = s[1:end]
	}
	negated := strings.HasPrefix(body, "!") || strings.HasPrefix(body, "^")
	if negated {
		body = body[1:]
	}
	if body == "" {
		return "", 0, refuse("invalid_glob", "The glob has a [ without ], or with nothing between.")
	}
	var b strings.Builder
	b.WriteByte('[')
	if negated {
		// A class never crosses into another segment.
		b.WriteString(`^/`)
	}
	for _, r := range body {
		if strings.ContainsRune(`\[]^&~`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte(']')
	return b.String(), end + 1, nil
}
