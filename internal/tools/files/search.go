package files

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

// search is a grep that is under way.
type search struct {
	pattern pattern
	args    grepArgs
	// most matches, and what their text may still take.
	most, budget int
	// read and work count bytes of text, and bytes times the pattern's cost.
	read, work int
	out        grepResult
	// reason tells why the search ended early.
	reason string
}

func (s *search) file(ctx context.Context, f tools.Files, file tools.File) error {
	if file.Size > maxGrepFileBytes {
		s.out.Skipped.TooLarge++
		return nil
	}
	if s.read+int(file.Size) > maxGrepBytes {
		s.reason = tools.ReasonBudget
		return nil
	}
	_, content, err := f.Read(ctx, file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody deleted it since it was listed.
		return nil
	}
	if err != nil {
		return err
	}
	s.read += len(content)
	if !texts.StorableBytes(content) {
		s.out.Skipped.Binary++
		return nil
	}
	s.out.FilesSearched++
	return s.lines(ctx, file.Path, splitLines(string(content)))
}

func (s *search) lines(ctx context.Context, path string, lines []string) error {
	for i := range lines {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line := bare(lines[i])
		if s.work += (len(line) + 1) * s.pattern.cost; s.work > maxGrepWork {
			s.reason = tools.ReasonBudget
			return nil
		}
		at := s.pattern.re.FindStringIndex(line)
		if at == nil {
			continue
		}
		if len(s.out.Matches) == s.most {
			s.reason = tools.ReasonItems
			return nil
		}
		m := match{Path: path, Line: i + 1, Text: excerpt(line, at[0])}
		cost := tools.EncodedLen(path) + tools.EncodedLen(m.Text) + 100
		around := func(from, to int) (out []string) {
			for _, l := range lines[max(from, 0):min(to, len(lines))] {
				l = excerpt(bare(l), 0)
				cost += tools.EncodedLen(l) + 3
				out = append(out, l)
			}
			return out
		}
		m.Before = around(i-s.args.ContextLines, i)
		m.After = around(i+1, i+1+s.args.ContextLines)
		if s.budget -= cost; s.budget < 0 {
			s.reason = tools.ReasonSize
			return nil
		}
		s.out.Matches = append(s.out.Matches, m)
	}
	return nil
}

// bare returns a line without its end.
func bare(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// excerpt returns a line, or of a long one what is around the position.
func excerpt(line string, at int) string {
	if len(line) <= maxLineBytes {
		return line
	}
	from := 0
	if at > maxLineBytes/2 {
		from = at - maxLineBytes/4
		for !utf8.RuneStart(line[from]) {
			from--
		}
	}
	text := tools.Shorten(line[from:], maxLineBytes)
	if from > 0 {
		text = "…" + text
	}
	return text
}
