package simulated

import (
	"slices"
	"unicode/utf8"

	texts "github.com/ostler-dev/ostler/internal/text"
)

const (
	// maxRuleText bounds the text that rules look at, so that no text can keep the patterns busy for long.
	maxRuleText = 8 << 10
	maxActions  = 16
	maxClauses  = 32
)

// parser takes a message of the user apart.
type parser struct {
	rules *ruleSet
	// file is the one of which was spoken last: what "it" means.
	file string
	// offered are the names of the tools that may be called.
	offered map[string]bool
}

// parse returns what the text asks for, in its order.
func (p *parser) parse(text string) []action {
	rest := texts.Cut(text, maxRuleText)
	var actions []action
	then := false
	for clauses := 0; rest != "" && clauses < maxClauses && len(actions) < maxActions; clauses++ {
		var t bool
		rest, t = p.lead(rest)
		then = then || t
		a, end, ok := p.clause(rest)
		if !ok {
			rest = p.skip(rest)
			continue
		}
		for _, a := range p.split(a) {
			a.after = waitsFor(actions, a, then)
			actions = append(actions, a)
		}
		rest, then = rest[end:], false
	}
	return actions
}

// lead takes off what may stand before the thing to do, and reports whether it said "then".
func (p *parser) lead(s string) (rest string, then bool) {
	for {
		at := p.rules.lead.FindStringSubmatchIndex(s)
		if at == nil || at[1] == 0 {
			return s, then
		}
		then = then || at[2*p.rules.lead.SubexpIndex("then")] >= 0
		s = s[at[1]:]
	}
}

func (p *parser) clause(s string) (action, int, bool) {
	if s == "" {
		return action{}, 0, false
	}
	for _, r := range p.rules.rules {
		at := r.re.FindStringSubmatchIndex(s)
		if at == nil {
			continue
		}
		m := match{re: r.re, text: s, at: at}
		if a, ok := r.build(p, m); ok {
			return a, m.end(), true
		}
	}
	return action{}, 0, false
}

// split makes an action into several where the tool for all at once isn't offered.
func (p *parser) split(a action) []action {
	if a.tool != toolReadMany || p.offered[toolReadMany] || !p.offered[toolRead] {
		return []action{a}
	}
	var list []action
	for _, file := range a.paths {
		list = append(list, readAction(file))
	}
	return list
}

// skip leaves out a clause that no rule fits.
func (p *parser) skip(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	at := p.rules.boundary.FindStringIndex(s[size:])
	if at == nil {
		return ""
	}
	return s[size+at[0]:]
}

// path returns the file that a clause names, or means by "it". From here on it is the one of which was spoken last.
func (p *parser) path(m match) (string, bool) {
	if name := m.file(); name != "" {
		p.file = absolute(name)
	}
	return p.file, p.file != ""
}

// waitsFor returns the index of the action whose result has to be there before a may be done, -1 for none: the one before
// where the text says "then", else the last that touches the same files when one of the two changes them.
func waitsFor(before []action, a action, then bool) int {
	if then {
		return len(before) - 1
	}
	for i, b := range slices.Backward(before) {
		if !a.mutates && !b.mutates {
			continue
		}
		touch := a.wide && len(b.paths) > 0 || b.wide && len(a.paths) > 0
		for _, path := range a.paths {
			touch = touch || slices.Contains(b.paths, path)
		}
		if touch {
			return i
		}
	}
	return -1
}
