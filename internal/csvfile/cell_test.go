package csvfile

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a spreadsheet takes for the end of a cell, none begins like a formula, and nothing but apostrophes is added.
func TestNoCellIsAFormula(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain; text": "plain; text", "a=b": "a=b", "=1": "'=1", "x;=1": "x;'=1", "x\t=1": "x\t'=1", "\t=1": "'\t'=1", "x\n@y;-z": "x\n'@y;'-z",
		"＝1": "'＝1", "a;＠b": "a;'＠b", "－1＋2": "'－1＋2", " =1": " '=1", "\u3000\u00a0＝1": "\u3000\u00a0'＝1", "\ufeff=1": "\ufeff'=1", "x; =1 =2": "x; '=1 =2",
		`"=1`: `"'=1`, "1 = 2": "1 = 2",
	} {
		if got := Cell(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.SampledFrom([]rune("ab=+-@＝＋－＠;,\t\r\n\v \u3000\u200b\"é"))).Draw(t, "text")
		out := Cell(in)
		for _, part := range strings.FieldsFunc(out, func(r rune) bool { return strings.ContainsRune(";\t\r\n", r) }) {
			part = strings.TrimLeft(part, " \v\u3000\u200b\"")
			if strings.IndexAny(part, "=+-@＝＋－＠") == 0 {
				t.Errorf("%q has the part %q", out, part)
			}
		}
		if strings.ReplaceAll(out, "'", "") != in {
			t.Errorf("%q became %q", in, out)
		}
	})
}

// Values stay as they are, whatever breaks their lines.
func TestWriteKeepsValues(t *testing.T) {
	var file strings.Builder
	rows := [][]string{{"q\rz", "q\nz"}, {"q\r\nz", `"`}, {"", ""}}
	if err := Write(t.Context(), &file, []string{"a", "b"}, func() ([][]string, error) { return rows, nil }); err != nil {
		t.Fatal(err)
	}
	if want := "a,b\r\n\"q\rz\",\"q\nz\"\r\n\"q\r\nz\",\"\"\"\"\r\n,\r\n"; file.String() != want {
		t.Errorf("got %q, want %q", file.String(), want)
	}
}
