package events

import (
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func TestTextFollowsDeltas(t *testing.T) {
	type piece struct {
		offset int
		text   string
	}
	tests := []struct {
		name   string
		pieces []piece
		want   string
		gap    bool
	}{
		{"in order", []piece{{0, "ab"}, {2, "cd"}}, "abcd", false},
		{"a pair counts two", []piece{{0, "a😀"}, {3, "b"}}, "a😀b", false},
		{"heard before", []piece{{0, "ab"}, {2, "cd"}, {0, "ab"}, {2, "c"}}, "abcd", false},
		{"heard in part before", []piece{{0, "abc"}, {2, "cde"}}, "abcde", false},
		{"swapped", []piece{{0, "ab"}, {4, "ef"}, {2, "cd"}}, "abcdef", false},
		{"two swapped", []piece{{0, "a"}, {3, "d"}, {2, "c"}, {1, "b"}}, "abcd", false},
		{"lost", []piece{{0, "ab"}, {4, "ef"}, {6, "g"}}, "ab", true},
		{"begun late", []piece{{4, "ef"}}, "", true},
		{"lost twice, then all", []piece{{0, "a"}, {3, "d"}, {9, "j"}, {0, "abcdefghij"}}, "abcdefghij", false},
		{"taken back", []piece{{0, "abcd"}, {2, "XY"}}, "abXY", false},
		{"begun anew", []piece{{0, "abcd"}, {0, "xy"}}, "xy", false},
		{"emptied", []piece{{0, "abcd"}, {0, ""}}, "", false},
		{"inside a pair", []piece{{0, "😀"}, {1, "x"}}, "😀", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var text liveText
			for _, p := range test.pieces {
				text.apply(p.offset, p.text)
			}
			got := ""
			if st := text.state.Load(); st != nil {
				got = st.text
				if st.units != len(utf16.Encode([]rune(got))) {
					t.Errorf("%q has %d units by its own account", got, st.units)
				}
			}
			if got != test.want || text.gap() != test.gap {
				t.Errorf("got %q, gap %v; want %q, %v", got, text.gap(), test.want, test.gap)
			}
		})
	}
}

// TestReadersEndUpWithTheText: whatever is lost, swapped or repeated, and whenever readers look, what they put together
// by the rule of the schema is a text that there was, and the whole one once a checkpoint has it.
//
// Rules: V3.
func TestReadersEndUpWithTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOfN(rapid.SampledFrom([]rune("aé漢😀")), 1, 40).Draw(t, "text")
		whole := string(runes)
		var text liveText
		var reader textPosition
		var seen []uint16
		look := func() {
			if offset, delta, ok := reader.next(text.state.Load()); ok {
				seen = append(seen[:offset:offset], utf16.Encode([]rune(delta))...)
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "deltas") {
			from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
			to := rapid.IntRange(from+1, len(runes)).Draw(t, "to")
			text.apply(len(utf16.Encode(runes[:from])), string(runes[from:to]))
			if rapid.Bool().Draw(t, "look") {
				look()
			}
		}
		text.adopt(whole)
		look()
		if got := string(utf16.Decode(seen)); got != whole || text.gap() {
			t.Fatalf("the reader has %q of %q; gap %v", got, whole, text.gap())
		}
	})
}
