package simulated

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// Names of the tools that the rules use.
const (
	toolTime     = "get_current_time"
	toolEcho     = "echo"
	toolProgress = "report_progress"
	toolTodos    = "write_todos"
	toolRead     = "read_file"
	toolReadMany = "read_many_files"
	toolWrite    = "write_file"
	toolEdit     = "edit_file"
	toolList     = "list_directory"
	toolGrep     = "grep_files"
	toolDelete   = "delete_file"
	toolStat     = "stat_file"
)

// action is one thing that a message asks for: a call of a tool.
type action struct {
	tool string
	args string
	// phrase says what is done, after "I will".
	phrase string
	// paths are the files that it touches; wide that it looks at more than it can name.
	paths         []string
	wide, mutates bool
	// subject is what the answer speaks of: a path, a pattern, a text.
	subject string
	// after is the index, in the same message, of the action whose result has to be waited for; -1 for none.
	after int
	// stop asks to leave undone what was asked before.
	stop bool

	// done reports that nothing is to be awaited any more: the call has its result, or there will be none because the tool
	// isn't offered (missing) or the user took it back (dropped).
	done, missing, dropped bool
	result                 models.Part
}

// The arguments of tools, in the order in which people like to see them stream.
type (
	timeArgs struct {
		Timezone string `json:"timezone,omitempty"`
	}
	textArgs struct {
		Text string `json:"text"`
	}
	progressArgs struct {
		Message string `json:"message"`
	}
	todo struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	todosArgs struct {
		Todos []todo `json:"todos"`
	}
	pathArgs struct {
		Path string `json:"path"`
	}
	pathsArgs struct {
		Paths []string `json:"paths"`
	}
	recursiveArgs struct {
		Path      string `json:"path"`
		Recursive bool   `json:"recursive,omitempty"`
	}
	writeArgs struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	replacement struct {
		Old string `json:"old"`
		New string `json:"new"`
		All bool   `json:"all,omitempty"`
	}
	editArgs struct {
		Path         string        `json:"path"`
		Replacements []replacement `json:"replacements"`
	}
	grepArgs struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty"`
	}
)

func buildTime(_ *parser, m match) (action, bool) {
	a := action{tool: toolTime, phrase: "look at the clock"}
	var args timeArgs
	if z := m.group("zone"); strings.Contains(z, "/") {
		args.Timezone = z
	} else {
		args.Timezone = zones[strings.ToLower(strings.Join(strings.Fields(z), " "))]
	}
	if a.subject = args.Timezone; a.subject != "" {
		a.phrase += " in " + a.subject
	}
	a.args = marshal(args)
	return a, true
}

func buildWrite(p *parser, m match) (action, bool) {
	file, ok := p.path(m)
	return action{
		tool: toolWrite, phrase: "write " + code(file), paths: []string{file}, mutates: true, subject: file,
		args: marshal(writeArgs{Path: file, Content: unquote(m.group("text"))}),
	}, ok
}

func buildEdit(p *parser, m match) (action, bool) {
	file, ok := p.path(m)
	r := replacement{Old: unquote(m.group("old")), New: unquote(m.group("new")), All: m.group("all") != ""}
	return action{
		tool: toolEdit, phrase: "edit " + code(file), paths: []string{file}, mutates: true, subject: file,
		args: marshal(editArgs{Path: file, Replacements: []replacement{r}}),
	}, ok
}

func buildDelete(p *parser, m match) (action, bool) {
	file, ok := p.path(m)
	dir := m.group("dir") != ""
	return action{
		tool: toolDelete, phrase: "delete " + code(file), paths: []string{file}, mutates: true, subject: file, wide: dir,
		args: marshal(recursiveArgs{Path: file, Recursive: dir}),
	}, ok
}

func buildRead(p *parser, m match) (action, bool) {
	file, ok := p.path(m)
	return readAction(file), ok
}

func readAction(file string) action {
	return action{
		tool: toolRead, phrase: "read " + code(file), paths: []string{file}, subject: file,
		args: marshal(pathArgs{Path: file}),
	}
}

func buildReadMany(p *parser, m match) (action, bool) {
	names := p.rules.fileNames.FindAllString(m.group("many"), -1)
	files, marked := make([]string, 0, len(names)), make([]string, 0, len(names))
	for _, name := range names {
		if file := absolute(name); !slices.Contains(files, file) {
			files, marked = append(files, file), append(marked, code(file))
		}
	}
	p.file = files[len(files)-1]
	return action{
		tool: toolReadMany, phrase: "read " + sentenceList(marked), paths: files, subject: strings.Join(files, ", "),
		args: marshal(pathsArgs{Paths: files}),
	}, true
}

func buildStat(p *parser, m match) (action, bool) {
	file, ok := p.path(m)
	return action{
		tool: toolStat, phrase: "look at " + code(file), paths: []string{file}, subject: file,
		args: marshal(pathArgs{Path: file}),
	}, ok
}

func buildList(_ *parser, m match) (action, bool) {
	dir := root
	if name := m.file(); name != "" && !strings.EqualFold(name, "workspace") {
		dir = absolute(name)
	}
	recursive := m.group("rec1") != "" || m.group("rec2") != ""
	return action{
		tool: toolList, phrase: "list the files in " + code(dir), wide: true, subject: dir,
		args: marshal(recursiveArgs{Path: dir, Recursive: recursive}),
	}, true
}

func buildGrep(_ *parser, m match) (action, bool) {
	pattern := m.group("text")
	if bare := unquote(pattern); bare != strings.TrimSpace(pattern) {
		pattern = bare
	} else {
		pattern = strings.TrimRight(bare, ".?!")
	}
	// People may mean an expression, but a bracket alone is only a bracket.
	if _, err := regexp.Compile(pattern); err != nil {
		pattern = regexp.QuoteMeta(pattern)
	}
	a := action{tool: toolGrep, phrase: "search for " + code(pattern), wide: true, subject: pattern}
	args := grepArgs{Pattern: pattern}
	if name := m.file(); name != "" {
		args.Path = absolute(name)
	}
	a.args = marshal(args)
	return a, pattern != ""
}

func buildTodos(p *parser, m match) (action, bool) {
	goal := strings.TrimRight(unquote(m.group("text")), ".!")
	items := p.rules.separators.Split(goal, -1)
	if len(items) < 2 {
		items = []string{"Find out what is needed", "Do the work", "Check the result"}
		if goal != "" {
			items = []string{"Understand the goal: " + goal, "Do the work", "Check the result"}
		}
	}
	var args todosArgs
	for _, item := range items {
		if item = firstLine(item, ""); item == "" {
			continue
		}
		t := todo{Content: item, Status: "pending"}
		if len(args.Todos) == 0 {
			t.Status = "in_progress"
		}
		args.Todos = append(args.Todos, t)
	}
	return action{tool: toolTodos, phrase: "make a plan", args: marshal(args)}, len(args.Todos) > 0
}

func buildEcho(_ *parser, m match) (action, bool) {
	text := unquote(m.group("text"))
	return action{tool: toolEcho, phrase: "use the echo", subject: text, args: marshal(textArgs{Text: text})}, true
}

func buildProgress(_ *parser, m match) (action, bool) {
	text := unquote(m.group("text"))
	return action{
		tool: toolProgress, phrase: "report progress", subject: text, args: marshal(progressArgs{Message: text}),
	}, true
}

func buildStop(*parser, match) (action, bool) { return action{stop: true}, true }

// root is where the files of a session are.
const root = "/workspace"

// absolute returns the path of a file as tools want it.
func absolute(name string) string {
	if bare := unquote(name); bare != name {
		name = bare
	} else {
		name = strings.TrimRight(name, ".,;:!?")
	}
	if strings.HasPrefix(name, "/") {
		return path.Clean(name)
	}
	return path.Clean(root + "/" + name)
}
