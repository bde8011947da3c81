package tools_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

func TestContentComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		shown, encoding := string(content), tools.EncodingText
		if !text.StorableBytes(content) {
			shown, encoding = base64.StdEncoding.EncodeToString(content), tools.EncodingBase64
		}
		back, err := tools.DecodeContent(shown, encoding)
		if err != nil || !bytes.Equal(back, content) {
			t.Fatalf("%q came back as %q, %v", content, back, err)
		}
	})
	if _, err := tools.DecodeContent("***", tools.EncodingBase64); err == nil {
		t.Error("*** is taken as base64")
	}
	if _, err := tools.DecodeContent("", "utf-16"); err == nil {
		t.Error("utf-16 is taken as an encoding")
	}
}

// What counts the room of text in JSON must not count less than Success takes.
func TestEncodedLen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		})).Draw(t, "s")
		written := len(tools.Success(s).JSON) - 2
		counted := tools.EncodedLen(s)
		if counted < written || (!strings.ContainsRune(s, utf8.RuneError) && counted != written) {
			t.Fatalf("%q takes %d bytes, counted are %d", s, written, counted)
		}
		budget := rapid.IntRange(0, counted).Draw(t, "budget")
		cut := tools.CutEncoded(s, budget)
		if !strings.HasPrefix(s, cut) || tools.EncodedLen(cut) > budget {
			t.Fatalf("cut to %d, %q is %q", budget, s, cut)
		}
		if text := text.Cut(s, budget); utf8.ValidString(s) && (!utf8.ValidString(text) || len(text) > budget) {
			t.Fatalf("cut to %d bytes, %q is %q", budget, s, text)
		}
	})
}

func TestHintsJSON(t *testing.T) {
	h := tools.Hints{ReadOnly: true, ConcurrencyClass: "c"}
	doc, err := json.Marshal(h)
	if err != nil || string(doc) != `{"readOnly":true,"concurrencyClass":"c"}` {
		t.Errorf("the hints are %s, %v", doc, err)
	}
	var back tools.Hints
	if err := json.Unmarshal(doc, &back); err != nil || back != h {
		t.Errorf("they come back as %+v, %v", back, err)
	}
	for _, c := range []struct {
		hints tools.Hints
		want  bool
	}{{tools.Hints{}, false}, {tools.Hints{ReadOnly: true}, true}, {tools.Hints{Idempotent: true}, true}, {tools.Hints{Destructive: true}, false}} {
		if c.hints.Repeatable() != c.want {
			t.Errorf("%+v is repeatable: %v", c.hints, !c.want)
		}
	}
}
