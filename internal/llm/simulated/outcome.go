package simulated

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	texts "github.com/ostler-dev/ostler/internal/text"
)

const (
	// maxQuoted bounds what an answer repeats of a result: it streams slowly.
	maxQuoted = 1_200
	maxItems  = 20
)

// outcome tells in Markdown what has come of an action.
func outcome(a action) string {
	switch {
	case a.stop:
		return "All right, I stop here. What was already done stays as it is."
	case a.dropped:
		return "I did not " + a.phrase + ", because you changed your mind."
	case a.missing && a.tool == toolEcho:
		return a.subject
	case a.missing:
		return "I could not " + a.phrase + ": this agent has no tool " + code(a.tool) + "."
	case !a.result.Success:
		return "I could not " + a.phrase + ". The tool " + code(a.tool) + " answered: " + strings.TrimRight(firstLine(a.result.Error, "it failed"), ".") + "."
	}
	var v any
	if json.Unmarshal(a.result.Result, &v) != nil {
		return "The tool " + code(a.tool) + " is done."
	}
	r, _ := v.(map[string]any)
	switch a.tool {
	case toolTime:
		if t := field(r, "time", "now", "current_time", "local", "iso", "datetime", "utc"); t != "" {
			in := ""
			if a.subject != "" {
				in = " in " + a.subject
			}
			return "The clock says it is **" + t + "**" + in + "."
		}
	case toolEcho:
		if t := field(r, "echoed", "text"); t != "" {
			return "The echo came back: " + t
		}
	case toolProgress:
		return "I reported progress: " + a.subject
	case toolTodos:
		return "Here is the plan:\n\n" + checklist(a.args)
	case toolWrite:
		size := "1 byte"
		if n := written(a.args); n != 1 {
			size = strconv.Itoa(n) + " bytes"
		}
		return "I wrote " + size + " to " + code(a.subject) + "."
	case toolRead:
		if text := contents(a.subject, r); text != "" {
			return text
		}
	case toolReadMany:
		if list, ok := items(v, "files"); ok && len(list) > 0 {
			return manyContents(list)
		}
	case toolEdit:
		if diff := field(r, "diff"); diff != "" {
			return "I edited " + code(a.subject) + ":\n\n" + fenced("diff", diff)
		}
		return "I edited " + code(a.subject) + "."
	case toolDelete:
		return "I deleted " + code(a.subject) + "."
	case toolList:
		if list, ok := items(v, "entries", "files", "items"); ok {
			return listing("There are no files in "+code(a.subject)+".", "The files in "+code(a.subject)+":", list)
		}
	case toolGrep:
		if list, ok := items(v, "matches", "results"); ok {
			return listing("Nothing matches "+code(a.subject)+".", "This matches "+code(a.subject)+":", list)
		}
	}
	pretty, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "The tool " + code(a.tool) + " is done."
	}
	return "The tool " + code(a.tool) + " answered:\n\n" + fenced("json", string(pretty))
}

// contents shows a file that was read; empty when the result isn't what is expected.
func contents(file string, r map[string]any) string {
	content, ok := r["content"].(string)
	switch {
	case !ok:
		return ""
	case content == "":
		return "The file " + code(file) + " is empty."
	case field(r, "encoding") == "base64":
		return "The file " + code(file) + " is not text."
	}
	return "The file " + code(file) + " contains:\n\n" + fenced("", content)
}

func manyContents(list []any) string {
	parts := make([]string, 0, len(list))
	for _, item := range list {
		r, _ := item.(map[string]any)
		file := field(r, "path")
		text := contents(file, r)
		if text == "" {
			problem, _ := r["error"].(map[string]any)
			text = "I could not read " + code(file) + ": " + firstLine(field(problem, "message"), "it failed")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// field returns the first of the fields that holds a text or a number.
func field(r map[string]any, names ...string) string {
	for _, n := range names {
		switch v := r[n].(type) {
		case string:
			if v != "" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

// items returns a list that a result is, or that it has under one of the names.
func items(v any, names ...string) ([]any, bool) {
	if list, ok := v.([]any); ok {
		return list, true
	}
	r, _ := v.(map[string]any)
	for _, n := range names {
		switch list := r[n].(type) {
		case []any:
			return list, true
		case nil:
			if _, there := r[n]; there {
				return nil, true
			}
		}
	}
	return nil, false
}

func listing(none, title string, list []any) string {
	if len(list) == 0 {
		return none
	}
	var b strings.Builder
	b.WriteString(title + "\n\n")
	for i, item := range list {
		if i == maxItems {
			fmt.Fprintf(&b, "- … and %d more\n", len(list)-maxItems)
			break
		}
		b.WriteString("- " + itemLine(item) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// itemLine shows an entry of a directory or a match of a search.
func itemLine(item any) string {
	switch v := item.(type) {
	case string:
		return code(v)
	case map[string]any:
		line := code(field(v, "path", "name", "file"))
		if n := field(v, "line", "lineNumber", "line_number"); n != "" {
			line += " line " + n
		}
		if text := field(v, "text", "content", "match"); text != "" {
			line += ": " + code(firstLine(text, ""))
		}
		return line
	}
	return code(marshal(item))
}

func checklist(args string) string {
	var list todosArgs
	if json.Unmarshal([]byte(args), &list) != nil {
		return ""
	}
	var b strings.Builder
	for _, t := range list.Todos {
		b.WriteString("- [ ] " + t.Content + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func written(args string) int {
	var w writeArgs
	if json.Unmarshal([]byte(args), &w) != nil {
		return 0
	}
	return len(w.Content)
}

// code marks a text as code.
func code(s string) string {
	ticks := strings.Repeat("`", longestRun(s)+1)
	if len(ticks) > 1 || strings.HasPrefix(s, "`") {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// fenced makes a code block that its text can't end.
func fenced(language, s string) string {
	if short := texts.Cut(s, maxQuoted); short != s {
		s = short + "\n… (shortened)"
	}
	fence := strings.Repeat("`", max(3, longestRun(s)+1))
	return fence + language + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}

// longestRun returns the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
