package simulated_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// Rules: M3.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		ask string
		// steps are the calls of each response of the turn.
		steps [][]string
	}{
		{"What time is it?", [][]string{{`get_current_time{}`}}},
		{"Hi! Could you please tell me what time it is in New York?", [][]string{{`get_current_time{"timezone":"America/New_York"}`}}},
		{"what's the current date in Europe/Berlin", [][]string{{`get_current_time{"timezone":"Europe/Berlin"}`}}},
		{"What is the time complexity of quicksort?", nil},
		{"Write hello world to file notes.txt and then read it back", [][]string{
			{`write_file{"path":"/workspace/notes.txt","content":"hello world"}`}, {`read_file{"path":"/workspace/notes.txt"}`}}},
		{"Write salt and pepper to file spices.txt. Then read the file back.", [][]string{
			{`write_file{"path":"/workspace/spices.txt","content":"salt and pepper"}`}, {`read_file{"path":"/workspace/spices.txt"}`}}},
		{"Write a file docs/a.md with content # Title <b> & more\nand a line, and read it back", [][]string{
			{`write_file{"path":"/workspace/docs/a.md","content":"# Title <b> & more\nand a line"}`},
			{`read_file{"path":"/workspace/docs/a.md"}`}}},
		{`create a new file called "my notes.txt" containing "one, then two"`, [][]string{
			{`write_file{"path":"/workspace/my notes.txt","content":"one, then two"}`}}},
		{"Save grüße 🎉 as /workspace/ü.txt", [][]string{{`write_file{"path":"/workspace/ü.txt","content":"grüße 🎉"}`}}},
		{"write to file x: y", [][]string{{`write_file{"path":"/workspace/x","content":"y"}`}}},
		{"create an empty file todo.txt", [][]string{{`write_file{"path":"/workspace/todo.txt","content":""}`}}},
		{"what time is it and list files", [][]string{{`get_current_time{}`, `list_directory{"path":"/workspace"}`}}},
		{"write a to a.txt and list the files", [][]string{
			{`write_file{"path":"/workspace/a.txt","content":"a"}`}, {`list_directory{"path":"/workspace"}`}}},
		{"write a to a.txt and write b to b.txt", [][]string{
			{`write_file{"path":"/workspace/a.txt","content":"a"}`, `write_file{"path":"/workspace/b.txt","content":"b"}`}}},
		{"1. Write a to a.txt\n2. Read a.txt\n3. Delete it", [][]string{
			{`write_file{"path":"/workspace/a.txt","content":"a"}`}, {`read_file{"path":"/workspace/a.txt"}`},
			{`delete_file{"path":"/workspace/a.txt"}`}}},
		{"list files in src recursively", [][]string{{`list_directory{"path":"/workspace/src","recursive":true}`}}},
		{"Which files are there?", [][]string{{`list_directory{"path":"/workspace"}`}}},
		{"search for TODO in the files", [][]string{{`grep_files{"pattern":"TODO"}`}}},
		{"grep for foo(bar in src/main.go and then tell me the time", [][]string{
			{`grep_files{"pattern":"foo\\(bar","path":"/workspace/src/main.go"}`}, {`get_current_time{}`}}},
		{`find "a b" in my files`, [][]string{{`grep_files{"pattern":"a b"}`}}},
		{"replace cat with dog in pets.txt", [][]string{
			{`edit_file{"path":"/workspace/pets.txt","replacements":[{"old":"cat","new":"dog"}]}`}}},
		{"In pets.txt, replace all cat by dog, and read it", [][]string{
			{`edit_file{"path":"/workspace/pets.txt","replacements":[{"old":"cat","new":"dog","all":true}]}`},
			{`read_file{"path":"/workspace/pets.txt"}`}}},
		{"Delete the folder old", [][]string{{`delete_file{"path":"/workspace/old","recursive":true}`}}},
		{"remove the file ./a.txt, please", [][]string{{`delete_file{"path":"/workspace/a.txt"}`}}},
		{"read a.txt, b.txt, ./a.txt and c.txt", [][]string{
			{`read_many_files{"paths":["/workspace/a.txt","/workspace/b.txt","/workspace/c.txt"]}`}}},
		{"What's in a.txt?", [][]string{{`read_file{"path":"/workspace/a.txt"}`}}},
		{"What is Node.js?", nil},
		{"how big is a.txt", [][]string{{`stat_file{"path":"/workspace/a.txt"}`}}},
		{"make a todo list: buy milk, walk the dog, sleep", [][]string{
			{`write_todos{"todos":[{"content":"buy milk","status":"in_progress"},{"content":"walk the dog","status":"pending"},` +
				`{"content":"sleep","status":"pending"}]}`}}},
		{"Make a plan for a party and then echo done", [][]string{
			{`write_todos{"todos":[{"content":"Understand the goal: a party","status":"in_progress"},` +
				`{"content":"Do the work","status":"pending"},{"content":"Check the result","status":"pending"}]}`},
			{`echo{"text":"done"}`}}},
		{"echo: Hello, world!", [][]string{{`echo{"text":"Hello, world!"}`}}},
		{"report progress half way", [][]string{{`report_progress{"message":"half way"}`}}},
		{"read it", nil},
		{"Tell me a joke.", nil},
		{"", nil},
	} {
		t.Run(c.ask, func(t *testing.T) {
			req := llm.Request{Model: "sim-default", Messages: []llm.Message{user(c.ask)}, Tools: allTools()}
			steps, answer := turn(t, fakeTools{}, &req, nil)
			equal(t, c.steps, steps)
			if answer == "" {
				t.Error("the answer is empty")
			}
		})
	}
}

// Rules: M3.
func TestWriteThenRead(t *testing.T) {
	req := llm.Request{
		Model: "sim-default", Tools: allTools(),
		Messages: []llm.Message{user("Write hello world to file notes.txt and then read it back")},
	}
	_, answer := turn(t, fakeTools{}, &req, nil)
	contains(t, answer, "I wrote 11 bytes to `/workspace/notes.txt`.")
	contains(t, answer, "```\nhello world\n```")
	var ids []string
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Type == models.PartToolCall {
				ids = append(ids, p.ToolCallID)
			}
		}
	}
	equal(t, []string{"call_1", "call_2"}, ids)

	// A later turn knows which file "it" is and goes on counting.
	req.Messages = append(req.Messages, user("Thanks. Now delete it."))
	steps, answer := turn(t, fakeTools{}, &req, nil)
	equal(t, [][]string{{`delete_file{"path":"/workspace/notes.txt"}`}}, steps)
	contains(t, answer, "I deleted `/workspace/notes.txt`.")
	equal(t, "call_3", req.Messages[len(req.Messages)-3].Parts[1].ToolCallID)
}

func TestToolErrorsAreReported(t *testing.T) {
	req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user("read missing.txt and tell me the time")}}
	steps, answer := turn(t, fakeTools{}, &req, nil)
	equal(t, 1, len(steps))
	contains(t, answer, "I could not read `/workspace/missing.txt`. The tool `read_file` answered: there is no file /workspace/missing.txt.")
	contains(t, answer, "**2026-03-01T12:00:00Z**")
}

func TestToolsThatAreNotOffered(t *testing.T) {
	req := llm.Request{
		Model: "sim-default", Tools: tools("read_file"),
		Messages: []llm.Message{user("write a to a.txt, read a.txt and b.txt, and echo bye")},
	}
	steps, answer := turn(t, fakeTools{"/workspace/a.txt": "A", "/workspace/b.txt": "B"}, &req, nil)
	equal(t, [][]string{{`read_file{"path":"/workspace/a.txt"}`, `read_file{"path":"/workspace/b.txt"}`}}, steps)
	contains(t, answer, "I could not write `/workspace/a.txt`: this agent has no tool `write_file`.")
	contains(t, answer, "bye")
}

func TestSteering(t *testing.T) {
	ask := "Write one to a.txt, then read it, then list the files"
	at := func(step int, text string) func(int) []llm.Message {
		return func(s int) []llm.Message {
			if s == step {
				return []llm.Message{user(text)}
			}
			return nil
		}
	}
	write, read, list := `write_file{"path":"/workspace/a.txt","content":"one"}`, `read_file{"path":"/workspace/a.txt"}`,
		`list_directory{"path":"/workspace"}`
	for _, c := range []struct {
		name, say, answer string
		steps             [][]string
	}{
		{"the newest ask comes first", "What time is it?", "2026-03-01", [][]string{{write}, {`get_current_time{}`}, {read}, {list}}},
		{"the rest may be taken back", "Never mind.", "because you changed your mind", [][]string{{write}}},
		{"small talk changes nothing", "You are quick", "You also wrote “You are quick”", [][]string{{write}, {read}, {list}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user(ask)}}
			steps, answer := turn(t, fakeTools{}, &req, at(0, c.say))
			equal(t, c.steps, steps)
			contains(t, answer, c.answer)
		})
	}
}

// A hook may change arguments, and what the conversation then shows isn't what the model had written. It must not call
// the tool for ever.
func TestChangedArgumentsCountAsDone(t *testing.T) {
	req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user("read a.txt")}}
	var r recorder
	res, err := r.stream(context.Background(), req)
	noError(t, err)
	for i := range res.Parts {
		if res.Parts[i].Type == models.PartToolCall {
			res.Parts[i].Arguments = models.JSON(`{"path":"/workspace/b.txt"}`)
		}
	}
	req.Messages = append(req.Messages, llm.Message{Role: models.MessageAgent, Parts: res.Parts},
		llm.Message{Role: models.MessageTool, Parts: []models.Part{
			{Type: models.PartToolResult, ToolCallID: "call_1", Success: true, Result: models.JSON(`{"content":"b"}`)}}})
	res, err = r.stream(context.Background(), req)
	noError(t, err)
	equal(t, llm.FinishStop, res.FinishReason)
}

func TestResultsOfAnyShape(t *testing.T) {
	for _, c := range []struct{ ask, result, want string }{
		{"time", `"noon"`, "\"noon\""},
		{"time", `not json`, "is done"},
		{"list files", `["a.txt"]`, "- `a.txt`"},
		{"list files", `{"entries":null}`, "There are no files"},
		{"list files", `{"odd":1}`, "\"odd\": 1"},
		{"search for x", `{"matches":[{"path":"/workspace/a","line":3,"text":"x y"}]}`, "- `/workspace/a` line 3: `x y`"},
		{"search for x", `{"matches":[]}`, "Nothing matches `x`"},
		{"read a.txt", `{"content":"a ` + "```" + ` b"}`, "````\na ``` b\n````"},
		{"read a.txt", `{"content":""}`, "is empty"},
		{"read a.txt", `{"content":"AA==","encoding":"base64"}`, "is not text"},
		{"read a.txt and b.txt", `{"files":[{"path":"/a","content":"A"},{"path":"/b","error":{"message":"gone"}}]}`,
			"The file `/a` contains:\n\n```\nA\n```\n\nI could not read `/b`: gone"},
		{"write a to b.txt", `{}`, "I wrote 1 byte to"},
		{"read a.txt", `{"content":"` + strings.Repeat("ü", 1000) + `"}`, "(shortened)"},
		{"replace a with b in c.txt", `{"diff":"-a\n+b\n"}`, "```diff\n-a\n+b\n```"},
		{"list files", `[` + strings.Repeat(`1,`, 30) + `1]`, "and 11 more"},
	} {
		req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user(c.ask)}}
		var r recorder
		res, err := r.stream(context.Background(), req)
		noError(t, err)
		req.Messages = append(req.Messages, llm.Message{Role: models.MessageAgent, Parts: res.Parts},
			llm.Message{Role: models.MessageTool, Parts: []models.Part{
				{Type: models.PartToolResult, ToolCallID: "call_1", Success: true, Result: models.JSON(c.result)}}})
		res, err = r.stream(context.Background(), req)
		noError(t, err)
		contains(t, textParts(res), c.want)
	}
}

func TestIntroduction(t *testing.T) {
	var r recorder
	res, err := r.stream(context.Background(), llm.Request{
		Model: "sim-default", Tools: tools("write_file", "get_current_time"), Messages: []llm.Message{user("What is\nlove?")},
	})
	noError(t, err)
	answer := textParts(res)
	contains(t, answer, "simulated model")
	contains(t, answer, "> What is love?")
	contains(t, answer, "- What time is it in Tokyo?\n- Write hello world")
	equal(t, false, strings.Contains(answer, "List the files"))
	equal(t, true, res.Usage.OutputTokens >= 30)

	res, err = r.stream(context.Background(), llm.Request{Model: "sim-default", Messages: []llm.Message{user("hm")}})
	noError(t, err)
	contains(t, textParts(res), "none of the tools that I know")
}
