package simulated

import (
	"regexp"
	"strings"
	"sync"
)

// Pieces of the patterns below.
const (
	quoted = "\"[^\"]+\"|“[^”]+”|`[^`]+`|'[^']+'"
	// bare is a path after the word "file"; dotted one that can be told from other words by itself.
	bare   = `[\p{L}\p{N}_.~/@+-]+`
	dotted = `[\p{L}\p{N}_.~/@+-]*[./][\p{L}\p{N}_/@+-]+`
	named  = `file\s+(?:called\s+|named\s+)?(?P<p1>` + quoted + `|` + bare + `)`
	// file is a file by its name, which is then in p1 or p2.
	file = `(?:(?:the|a|an|my|new|text|empty)\s+)*(?:` + named + `|(?P<p2>` + quoted + `|` + dotted + `)(?:\s+file\b)?)`
	// fileOrIt may also mean the file of which was spoken last.
	fileOrIt = `(?:` + file + `|(?P<it>it|that|the\s+same|(?:that|this|the|the\s+same)\s+file)\b)`

	verbs = `(?:read|list|delete|remove|show|search|grep|edit|replace|change|write|create|make|tell|what|which|echo|repeat` +
		`|save|put|open|cat|find|stat|please|report)\b`
	// tail is where a free text ends: at the end, or before what looks like the next thing to do.
	tail = `(?:\s*$|[.,;]?\s+(?:and\s+)?then\b|[.,;]?\s+and\s+` + verbs + `|[.;!?]\s+` + verbs + `|\n\s*(?:[-*]\s+|\d+[.)]\s+)?` + verbs + `)`

	// where is what follows the pattern of a search.
	where = `(?:\s+in\s+(?:(?:(?:the|my|all|every)\s+)*(?:files?|workspace)\b(?:\s*(?:[?.!,;]|$)|\s+(?:and|then)\b)|` + file + `)|` + tail + `)`

	zone = `(?:\s+in\s+(?P<zone>[a-z_]+(?:/[a-z0-9_+-]+)+|utc|gmt|new\s+york|los\s+angeles|san\s+francisco|[a-z]+))?`
)

// zones are cities that people ask for, with their time zones.
var zones = map[string]string{
	"utc": "UTC", "gmt": "UTC",
	"amsterdam": "Europe/Amsterdam", "berlin": "Europe/Berlin", "london": "Europe/London", "madrid": "Europe/Madrid",
	"paris": "Europe/Paris", "rome": "Europe/Rome", "vienna": "Europe/Vienna", "zurich": "Europe/Zurich",
	"chicago": "America/Chicago", "los angeles": "America/Los_Angeles", "new york": "America/New_York",
	"san francisco": "America/Los_Angeles", "toronto": "America/Toronto",
	"beijing": "Asia/Shanghai", "delhi": "Asia/Kolkata", "singapore": "Asia/Singapore", "tokyo": "Asia/Tokyo",
	"sydney": "Australia/Sydney",
}

// rule tells what a clause asks for. Its pattern stands at the beginning of the clause; the empty group "end" is where
// the clause ends.
type rule struct {
	pattern string
	build   func(p *parser, m match) (action, bool)
}

// rules are tried in order: the first that fits is taken.
var rules = []rule{
	{`(?:(?:tell|give|show)\s+me\s+|do\s+you\s+know\s+|i\s+(?:need|want)(?:\s+to\s+know)?\s+)?(?:what(?:['’]?s|\s+is)?\s+|check\s+|get\s+)?` +
		`(?:the\s+|today['’]s\s+)?(?:current\s+)?(?:local\s+)?(?:date\s+and\s+time|time|date)(?:\s+(?:is\s+it|it\s+is|now|right\s+now|please|today))*` + zone +
		`(?P<end>)(?:\s+(?:now|right\s+now|please))?(?:\s*(?:[?.!,;\n]|$)|\s+(?:and|then)\b)`, buildTime},
	{`what\s+day\s+is\s+(?:it|today)(?P<end>)`, buildTime},
	{`(?:use|call|run)\s+(?:the\s+)?` + toolTime + `\b(?P<end>)`, buildTime},
	{`(?:use|call|run)\s+(?:the\s+)?` + toolList + `\b(?P<end>)`, buildList},
	{`(?:write|create|make|save|add)\s+` + file + `\s+(?:with|containing|that\s+(?:says|contains))\s+(?:(?:the|this)\s+)?` +
		`(?:(?:contents?|text)\b:?\s*)?(?P<text>` + quoted + `|.+?)(?P<end>)` + tail, buildWrite},
	{`(?:write|save|put|store)\s+(?:the\s+text\s+)?(?P<text>` + quoted + `|.+?)\s+(?:in|to|into|as|on)\s+` + file + `(?P<end>)`, buildWrite},
	{`write\s+(?:in|to|into)\s+` + file + `:?\s+(?P<text>` + quoted + `|.+?)(?P<end>)` + tail, buildWrite},
	{`(?:create|make|touch)\s+` + file + `(?P<end>)`, buildWrite},
	{`(?:replace|change|substitute)\s+(?P<all>(?:all|every|each)\s+)?(?:occurrences?\s+of\s+)?(?P<old>` + quoted +
		`|.+?)\s+(?:with|by|to|into)\s+(?P<new>` + quoted + `|.+?)\s+in\s+` + fileOrIt + `(?P<end>)`, buildEdit},
	{`(?:edit|change|update|in)\s+` + fileOrIt + `\s*[:,]?\s*(?:and\s+|by\s+|to\s+)?(?:replac(?:e|ing)|chang(?:e|ing))\s+` +
		`(?P<all>(?:all|every|each)\s+)?(?P<old>` + quoted + `|.+?)\s+(?:with|by|to|into)\s+(?P<new>` + quoted + `|.+?)(?P<end>)` + tail, buildEdit},
	{`(?:delete|remove|erase|rm)\s+(?:(?:the|my)\s+)?(?P<dir>directory|folder)\s+(?P<p1>` + quoted + `|` + bare + `)(?P<end>)`, buildDelete},
	{`(?:delete|remove|erase|rm)\s+` + fileOrIt + `(?P<end>)`, buildDelete},
	{`(?:read|show|open|cat|display|print)\s+(?:me\s+)?(?:files\s+)?(?P<many>(?:` + quoted + `|` + dotted + `)(?:(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+)(?:` +
		quoted + `|` + dotted + `))+)(?P<end>)`, buildReadMany},
	{`(?:read|show|open|cat|display|print)\s+(?:me\s+)?(?:back\s+)?(?:(?:the\s+)?contents?\s+of\s+)?` + fileOrIt + `(?P<end>)(?:\s+back\b)?`, buildRead},
	{`what(?:(?:['’]?s|\s+is)\s+in|\s+does)\s+` + file + `(?P<end>)`, buildRead},
	{`(?:stat|how\s+(?:big|large)\s+is|does|is\s+there)\s+` + file + `(?P<end>)`, buildStat},
	{`(?:(?:list|show|display)\s+(?:me\s+)?(?:all\s+|of\s+|the\s+|my\s+|every\s+)*(?:files|directory|directories|folders?|workspace|everything)` +
		`|(?:what|which)\s+files\b(?:\s+(?:are\s+there|do\s+(?:i|you|we)\s+have|exist|are))?|ls\b)(?:\s+(?P<rec1>recursively))?` +
		`(?:\s+(?:in|of|under)\s+(?:(?:the|my)\s+)?(?:(?:directory|folder)\s+)?(?P<p1>` + quoted + `|` + bare + `))?(?:\s+(?P<rec2>recursively))?(?P<end>)`, buildList},
	{`(?:(?:search|grep)\s+(?:(?:in\s+)?(?:(?:the|my|all)\s+)*(?:files|workspace)\s+)?(?:for\s+)?|look\s+for\s+|find\s+(?:all\s+)?(?:occurrences|mentions)\s+of\s+)` +
		`(?P<text>` + quoted + `|.+?)(?P<end>)` + where, buildGrep},
	{`find\s+(?P<text>` + quoted + `)(?P<end>)` + where, buildGrep},
	{`(?:make|create|write|draw\s+up|give\s+me|set\s+up|prepare)\s+(?:me\s+)?(?:(?:a|an|the|my|short|new)\s+)*(?:plan|to-?\s?dos?|check\s?list)\b(?:\s+list)?` +
		`(?:(?:\s*:\s*|\s+(?:for|to|about|of|with(?:\s+(?:the\s+)?items)?:?)\s+)(?P<text>` + quoted + `|.+?)(?P<end>)` + tail + `)?`, buildTodos},
	{`(?:echo|repeat)\b(?:\s+(?:after\s+me|back))?\s*:?\s*(?P<text>` + quoted + `|.+?)(?P<end>)` + tail, buildEcho},
	{`report\s+(?:the\s+)?(?:progress|status)\s*:?\s*(?:that\s+)?(?P<text>` + quoted + `|.+?)(?P<end>)` + tail, buildProgress},
	{`(?:(?:stop|cancel)(?:\s+(?:it|that|this|now|please))?|never\s*mind|forget\s+(?:it|that|about\s+it))(?P<end>)\s*(?:[.!,;\n]|$)`, buildStop},
}

// lead is what may stand before the thing to do.
const lead = `[\s,;:.!?]*(?:(?:[-*•]|\d+[.)])\s+)?(?:(?P<then>then|after\s+that|afterwards|finally|next|once\s+that\s+is\s+done|now)\b|` +
	`(?:and|also|please|hello|hi|hey|first|just|kindly|let['’]s|use\s+(?:the\s+)?\w+\s+(?:tool\s+)?to|(?:can|could|would|will)\s+you|i\s+want\s+you\s+to|i(?:['’]d|\s+would)\s+like\s+you\s+to)\b)?`

// boundary is where a clause that no rule fits is given up.
const boundary = `[.;!?,:]\s|\n|\s(?:and|then)\s`

// ruleSet is the rules, ready for use.
type ruleSet struct {
	lead, boundary, fileNames, separators *regexp.Regexp
	rules                                 []compiledRule
}

type compiledRule struct {
	re    *regexp.Regexp
	build func(p *parser, m match) (action, bool)
}

// compiledRules returns the one rule set. It is made at the first need: compiling it takes milliseconds, which would slow
// every start.
var compiledRules = sync.OnceValue(newRuleSet)

func newRuleSet() *ruleSet {
	s := &ruleSet{
		lead:       regexp.MustCompile(`(?is)^` + lead),
		boundary:   regexp.MustCompile(`(?i)` + boundary),
		fileNames:  regexp.MustCompile(quoted + `|` + dotted),
		separators: regexp.MustCompile(`\s*[,;\n]\s*(?:and\s+)?`),
	}
	for _, r := range rules {
		s.rules = append(s.rules, compiledRule{re: regexp.MustCompile(`(?is)^(?:` + r.pattern + `)`), build: r.build})
	}
	return s
}

// match is what a pattern has found.
type match struct {
	re   *regexp.Regexp
	text string
	at   []int
}

// group returns what a group of the pattern holds, as it was written; empty when there is none.
func (m match) group(name string) string {
	i := m.re.SubexpIndex(name)
	if i < 0 || m.at[2*i] < 0 {
		return ""
	}
	return m.text[m.at[2*i]:m.at[2*i+1]]
}

// end returns where the clause ends.
func (m match) end() int {
	if i := m.re.SubexpIndex("p1"); i >= 0 && m.at[2*i] >= 0 && notName(m.group("p1")) {
		return m.at[2*i]
	}
	if i := m.re.SubexpIndex("end"); m.at[2*i] >= 0 {
		return m.at[2*i]
	}
	return m.at[1]
}

// file returns the name of a file, as it was written; empty when the clause names none.
func (m match) file() string {
	name := m.group("p1")
	if name == "" {
		name = m.group("p2")
	}
	if notName(name) {
		return ""
	}
	return name
}

// notName returns the words that follow "the file" when it stands for itself, as in "read the file back".
func notName(s string) bool {
	switch strings.ToLower(strings.Trim(s, ".")) {
	case "", "back", "again", "and", "then", "please", "now", "in", "it":
		return true
	}
	return false
}

// unquote takes the quotation marks off.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range []string{`""`, "''", "``", "“”"} {
		r := []rune(q)
		open, closing := string(r[0]), string(r[1])
		if len(s) > len(open)+len(closing)-1 && strings.HasPrefix(s, open) && strings.HasSuffix(s, closing) {
			return s[len(open) : len(s)-len(closing)]
		}
	}
	return s
}
