// Package csvfile writes CSV files for spreadsheets, as RFC 4180 has them, a page of rows at a time: no file is ever in memory as a whole, and
// no reader keeps the database waiting.
package csvfile

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/ostler-dev/ostler/internal/models"
)

// PageRows is how many rows of a file are in memory at once.
const PageRows = 2000

// Write writes the header with the first page, so that what fails before leaves nothing behind, and then page after page. read gives the rows behind
// those that it has given before, PageRows of them as long as there are so many.
func Write(ctx context.Context, to io.Writer, header []string, read func() ([][]string, error)) error {
	for first := true; ; first = false {
		rows, err := read()
		if err != nil {
			return err
		}
		last := len(rows) < PageRows
		if first {
			rows = slices.Insert(rows, 0, header)
		}
		if err := writeRows(to, rows); err != nil {
			return fmt.Errorf("write an export: %w", err)
		}
		if last {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("write an export: %w", err)
		}
	}
}

// writeRows ends each row with CR and LF. The library can do that, too, but then it changes line breaks inside of values.
func writeRows(to io.Writer, rows [][]string) error {
	var page bytes.Buffer
	w := csv.NewWriter(&page)
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			return err //nolint:wrapcheck // the caller does
		}
		w.Flush()
		page.Truncate(page.Len() - 1)
		page.WriteString("\r\n")
	}
	_, err := to.Write(page.Bytes())
	return err //nolint:wrapcheck // the caller does
}

// Cell keeps spreadsheets from taking a text, or a part of it, for a formula: names are chosen by anybody. Where spreadsheets take other
// characters than commas between cells, a cell begins after each of those, in quotes or not. Some leave out blanks and quotes at its
// beginning, and some read full-width forms of operators.
func Cell(s string) string {
	const separators = ";\t\r\n"
	var b strings.Builder
	begins := true
	for _, r := range s {
		if begins && strings.ContainsRune("=+-@＝＋－＠\t\r\n", r) {
			b.WriteByte('\'')
		}
		begins = strings.ContainsRune(separators, r) || begins && (r == '"' || unicode.IsSpace(r) || !unicode.IsGraphic(r))
		b.WriteRune(r)
	}
	return b.String()
}

// Time is a time as all files have it.
func Time(at models.Millis) string { return at.Time().Format("2006-01-02T15:04:05.000Z") }
