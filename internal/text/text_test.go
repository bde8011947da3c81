package text_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/text"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": "", "ключ": "", "five!": "The text has 5 characters; at most 4 are allowed.",
		"a\x00": "The text contains a NUL character; remove it.", "\xff": "The text is not valid UTF-8.",
	} {
		err := text.Check(s, 4, "input", "title")
		var f *fault.Error
		if (err == nil) != (want == "") || err != nil && (!errors.As(err, &f) || f.Message != want || len(f.Path) != 2) {
			t.Errorf("%q: got %v, want %q", s, err, want)
		}
		if optional := text.CheckOptional(&s, 4); (optional == nil) != (want == "") {
			t.Errorf("%q: got %v", s, optional)
		}
	}
	if err := text.CheckOptional(nil, 0); err != nil {
		t.Error(err)
	}
}

func TestCleanTextCanBeStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		clean := text.Clean(s)
		if !utf8.ValidString(clean) || !text.Storable(clean) || text.Storable(s) && clean != s || text.Clean(clean) != clean {
			t.Fatalf("%q became %q", s, clean)
		}
	})
}
