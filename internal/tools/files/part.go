package files

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

// The units of offset and limit.
const (
	unitLines = "lines"
	unitBytes = "bytes"
)

// part is a file's content, or some of it.
type part struct {
	Path     string `json:"path"`
	Content  string `json:"content"`
	Encoding string `json:"encoding"`
	Hash     string `json:"hash"`
	// Size of the whole file, in bytes.
	Size int64 `json:"size"`
	// TotalLines of the whole file; text only.
	TotalLines *int `json:"totalLines,omitempty"`
	// Unit is that of Offset and NextOffset.
	Unit   string `json:"unit"`
	Offset int    `json:"offset"`
	tools.Cut
}

// readPart returns as much as was asked for and as fits the budget, which counts bytes as JSON writes them.
func readPart(file tools.File, content []byte, a readArgs, budget int) (part, error) {
	p := part{Path: file.Path, Hash: file.Hash, Size: file.Size, Unit: a.Unit, Offset: a.Offset}
	if !text.StorableBytes(content) {
		if a.Unit == unitLines {
			return p, refuse("not_text", "%s is not text, so it has no lines. Leave unit out to get it as base64, counted in bytes.", file.Path)
		}
		return p.binary(content, a, budget)
	}
	p.Encoding = tools.EncodingText
	total := countLines(content)
	p.TotalLines = &total
	if a.Unit == unitBytes {
		return p.textBytes(content, a, budget)
	}
	p.Unit = unitLines
	return p.textLines(content, a, budget)
}

func (p part) binary(content []byte, a readArgs, budget int) (part, error) {
	p.Encoding, p.Unit = tools.EncodingBase64, unitBytes
	if err := p.inRange(len(content), unitBytes); err != nil {
		return p, err
	}
	end, reason := len(content), ""
	// Base64 takes four bytes for three.
	if most := max(budget/4*3, 3); end-a.Offset > most {
		end, reason = a.Offset+most, tools.ReasonSize
	}
	if a.Limit > 0 && end-a.Offset > a.Limit {
		end, reason = a.Offset+a.Limit, tools.ReasonLimit
	}
	p.Content = base64.StdEncoding.EncodeToString(content[a.Offset:end])
	return p.cut(reason, end-a.Offset, end), nil
}

func (p part) textBytes(content []byte, a readArgs, budget int) (part, error) {
	if err := p.inRange(len(content), unitBytes); err != nil {
		return p, err
	}
	// An offset inside a character goes back to where it begins.
	for p.Offset > 0 && p.Offset < len(content) && !utf8.RuneStart(content[p.Offset]) {
		p.Offset--
	}
	// JSON never makes text shorter, so what lies beyond the budget needn't be looked at.
	rest, reason := content[p.Offset:], ""
	p.Content = tools.CutEncoded(string(rest[:min(len(rest), max(budget, 0)+utf8.UTFMax)]), budget)
	if len(p.Content) < len(rest) {
		reason = tools.ReasonSize
	}
	if a.Limit > 0 && len(p.Content) > a.Limit {
		p.Content, reason = text.Cut(p.Content, a.Limit), tools.ReasonLimit
	}
	if p.Content == "" && len(rest) > 0 {
		// At least one character, or nobody gets past it.
		_, n := utf8.DecodeRune(rest)
		p.Content = string(rest[:n])
		if n == len(rest) {
			reason = ""
		}
	}
	return p.cut(reason, len(p.Content), p.Offset+len(p.Content)), nil
}

func (p part) textLines(content []byte, a readArgs, budget int) (part, error) {
	if err := p.inRange(*p.TotalLines, unitLines); err != nil {
		return p, err
	}
	start := 0
	for range a.Offset {
		start += lineLen(content[start:])
	}
	end, lines, reason := start, 0, ""
	for end < len(content) {
		if a.Limit > 0 && lines == a.Limit {
			reason = tools.ReasonLimit
			break
		}
		n := lineLen(content[end:])
		// JSON never makes text shorter.
		if n > budget {
			reason = tools.ReasonSize
			break
		}
		cost := tools.EncodedLen(string(content[end : end+n]))
		if cost > budget {
			reason = tools.ReasonSize
			break
		}
		budget -= cost
		end += n
		lines++
	}
	if lines == 0 && reason == tools.ReasonSize {
		// A line that is longer than a result: give its beginning and go on by bytes.
		p.Unit, p.Offset = unitBytes, start
		line := content[start : start+lineLen(content[start:])]
		long, err := p.textBytes(content, readArgs{Offset: start, Limit: len(line)}, budget)
		if long.Truncated {
			long.ResumeHint = fmt.Sprintf("Line %d is too long for one result. %s", a.Offset+1, long.ResumeHint)
		}
		return long, err
	}
	p.Content = string(content[start:end])
	return p.cut(reason, end-start, a.Offset+lines), nil
}

func (p part) inRange(total int, unit string) error {
	if p.Offset > total {
		return refuse("out_of_range", "offset %d is beyond the end of %s, which has %s.", p.Offset, p.Path, plural(total, unit[:len(unit)-1]))
	}
	return nil
}

// cut fills in what is missing; no reason means nothing is.
func (p part) cut(reason string, returned, next int) part {
	if reason == "" {
		return p
	}
	p.Cut = tools.Cut{
		Truncated: true, BytesReturned: returned, BytesTotal: int(p.Size), NextOffset: next, Reason: reason,
		ResumeHint: fmt.Sprintf("Continue with unit %q and offset %d.", p.Unit, next),
	}
	return p
}

// countLines counts an unfinished last line, too.
func countLines(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

// lineLen returns the length of the first line, its end included.
func lineLen(content []byte) int {
	if i := bytes.IndexByte(content, '\n'); i >= 0 {
		return i + 1
	}
	return len(content)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
