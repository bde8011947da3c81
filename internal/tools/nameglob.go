package tools

import (
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/fault"
)

// maxNameGlobBytes bounds a glob of tool names: several names of 64 characters.
const maxNameGlobBytes = 512

// NameGlob matches names of tools: "read_file", "read_*", "read_*|grep_files". Alternatives are separated by |; a * ends
// an alternative and stands for anything, also nothing. Everything else is taken literally.
type NameGlob struct{ alternatives []string }

// ParseNameGlob reads a glob, or says in words what is wrong with it.
func ParseNameGlob(text string) (NameGlob, *fault.Error) {
	invalid := func(what string) (NameGlob, *fault.Error) {
		return NameGlob{}, fault.New(fault.Invalid, "%q is not a pattern of tool names: %s. Write names, each with an optional * at its end, separated by |.",
			Shorten(strings.ToValidUTF8(text, "\uFFFD"), 64), what)
	}
	if len(text) > maxNameGlobBytes {
		return invalid("it has more than " + strconv.Itoa(maxNameGlobBytes) + " bytes")
	}
	alternatives := strings.Split(text, "|")
	for _, a := range alternatives {
		name := strings.TrimSuffix(a, "*")
		switch {
		case a == "":
			return invalid("a name in it is empty")
		case strings.Contains(name, "*"):
			return invalid("a * can only stand at the end of a name")
		case name != "" && !toolName.MatchString(name):
			return invalid("names have 1 to 64 letters, digits, _ and -")
		}
	}
	return NameGlob{alternatives: alternatives}, nil
}

// Match reports whether the glob matches a name.
func (g NameGlob) Match(name string) bool {
	for _, a := range g.alternatives {
		if prefix, open := strings.CutSuffix(a, "*"); a == name || open && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// NameGlobs matches what one of them matches.
type NameGlobs []NameGlob

// ParseNameGlobs reads a list of globs. The path of a failure is the position.
func ParseNameGlobs(texts []string) (NameGlobs, *fault.Error) {
	globs := make(NameGlobs, len(texts))
	for i, text := range texts {
		var f *fault.Error
		if globs[i], f = ParseNameGlob(text); f != nil {
			return nil, f.At(strconv.Itoa(i))
		}
	}
	return globs, nil
}

// Match reports whether one of the globs matches a name.
func (g NameGlobs) Match(name string) bool {
	for _, glob := range g {
		if glob.Match(name) {
			return true
		}
	}
	return false
}
