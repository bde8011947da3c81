package events

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// textState is a text at one moment. It never changes.
type textState struct {
	text string
	// units is its length in UTF-16 code units.
	units int
	// round changes when the text was replaced instead of continued: readers then begin anew.
	round int
}

// liveText is a text that grows by deltas, some of which get lost, swapped or repeated. Within one round a text is only
// ever continued, so a delta that says what is known already has been heard before.
type liveText struct {
	built *strings.Builder
	units int
	round int
	// tail is a piece that begins past the end: what is between was lost, and is waited for.
	tail      string
	tailStart int
	// state is what readers see; nil before there is anything.
	state atomic.Pointer[textState]
}

// gap reports whether pieces are missing.
func (t *liveText) gap() bool { return t.tail != "" }

// restart forgets everything. It reports whether there was anything that readers saw.
func (t *liveText) restart() bool {
	t.tail, t.tailStart = "", 0
	if t.built == nil {
		return false
	}
	had := t.units > 0
	t.replace("")
	return had
}

// apply takes a delta in. It reports whether readers see a change.
func (t *liveText) apply(offset int, text string) bool {
	if !t.put(offset, text) {
		return false
	}
	t.publish()
	return true
}

// adopt takes a longer text in, from a checkpoint. It reports whether readers see a change.
func (t *liveText) adopt(text string) bool { return text != "" && t.apply(0, text) }

func (t *liveText) put(offset int, text string) bool {
	if offset > t.units {
		t.hold(offset, text)
		return false
	}
	if offset == t.units {
		if text == "" {
			return false
		}
		t.extend(text)
	} else {
		known := t.built.String()
		at, ok := byteOffset(known, offset)
		if !ok {
			return false
		}
		rest := known[at:]
		if strings.HasPrefix(rest, text) && (text != "" || offset > 0) {
			return false
		}
		if strings.HasPrefix(text, rest) {
			t.extend(text[len(rest):])
		} else {
			t.replace(known[:at] + text)
		}
	}
	if t.tail != "" && t.tailStart <= t.units {
		start, tail := t.tailStart, t.tail
		t.tail, t.tailStart = "", 0
		t.put(start, tail)
	}
	return true
}

// hold keeps a piece whose place has not been reached. Only one run of pieces is kept: a second hole is left to the
// next checkpoint.
func (t *liveText) hold(offset int, text string) {
	if text == "" {
		return
	}
	end := t.tailStart + UTF16Length(t.tail)
	switch {
	case t.tail == "" || offset > end:
		t.tail, t.tailStart = text, offset
	case offset == end:
		t.tail += text
	case offset+UTF16Length(text) == t.tailStart:
		t.tail, t.tailStart = text+t.tail, offset
	}
}

func (t *liveText) extend(text string) {
	if t.built == nil {
		t.built = &strings.Builder{}
	}
	t.built.WriteString(text)
	t.units += UTF16Length(text)
}

// replace begins a new round. The old builder stays as it is: readers may still hold its text.
func (t *liveText) replace(text string) {
	t.built = &strings.Builder{}
	t.built.WriteString(text)
	t.units = UTF16Length(text)
	t.round++
	t.publish()
}

// publish shows readers the text. A Builder's string shares its memory, and writing more never changes what was
// written, so this copies nothing.
func (t *liveText) publish() {
	t.state.Store(&textState{text: t.built.String(), units: t.units, round: t.round})
}

// UTF16Length returns the length of a text in UTF-16 code units.
func UTF16Length(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// byteOffset returns where in s an offset in UTF-16 code units is; false when it is past the end or splits a pair.
func byteOffset(s string, units int) (int, bool) {
	i := 0
	for units > 0 && i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		units--
		if r > 0xFFFF {
			units--
		}
	}
	return i, units == 0
}

// textPosition is how far a reader is in a liveText.
type textPosition struct{ round, bytes, units int }

// next returns what the reader has not seen, and moves it on. It returns false when there is nothing new.
func (p *textPosition) next(st *textState) (offset int, delta string, ok bool) {
	if st == nil {
		return 0, "", false
	}
	if p.round != st.round {
		// A reader that has seen nothing has nothing to take back.
		if st.text == "" && p.units == 0 {
			p.round = st.round
			return 0, "", false
		}
		*p = textPosition{round: st.round, bytes: len(st.text), units: st.units}
		return 0, st.text, true
	}
	if p.bytes == len(st.text) {
		return 0, "", false
	}
	offset, delta = p.units, st.text[p.bytes:]
	p.bytes, p.units = len(st.text), st.units
	return offset, delta, true
}
