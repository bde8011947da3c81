package simulated

import (
	"strings"

	"github.com/ostler-dev/ostler/internal/llm"
	texts "github.com/ostler-dev/ostler/internal/text"
)

// announcement is what comes before tool calls.
func announcement(all, ready []action, begun bool) string {
	now, later := make([]string, 0, len(ready)), make([]string, 0, len(all))
	for _, a := range ready {
		now = append(now, a.phrase)
	}
	for _, a := range all {
		if !a.done && a.after >= 0 && !all[a.after].done {
			later = append(later, a.phrase)
		}
	}
	text := "I will "
	if begun {
		text = "Next I will "
	}
	text += sentenceList(now) + "."
	if len(later) > 0 {
		text += " After that I will " + sentenceList(later) + "."
	}
	return text
}

// report is the answer when nothing is left to do.
func report(asks []ask, req *llm.Request) string {
	var parts []string
	acted, failed, other := false, false, ""
	for _, a := range asks {
		if len(a.actions) == 0 {
			other = firstLine(a.text, other)
		}
		for _, act := range a.actions {
			parts = append(parts, outcome(act))
			acted = acted || act.result.Success
			failed = failed || act.missing || act.result.Type != "" && !act.result.Success
		}
	}
	switch {
	case len(parts) == 0:
		return introduction(lastUserText(req.Messages), req.Tools)
	case failed:
		parts = append(parts, "Not everything went well, as you can see above. You can change the request and I will try again.")
	case acted:
		parts = append(parts, "That is all you asked for. I am a simulated model that follows a few simple rules, but the tools, "+
			"and what they did, are real.")
	}
	if other != "" {
		parts = append(parts, "You also wrote “"+other+"”. I have no rule for that.")
	}
	return strings.Join(parts, "\n\n")
}

// suggestions are things to try, each with the tool that it needs.
var suggestions = []struct{ tool, text string }{
	{toolTime, "What time is it in Tokyo?"},
	{toolWrite, "Write hello world to file notes.txt and then read it back"},
	{toolList, "List the files"},
	{toolGrep, "Search for hello in the files"},
	{toolTodos, "Make a plan for a birthday party"},
	{toolEcho, "Echo good morning"},
}

// introduction is the answer to what no rule fits.
func introduction(text string, tools []llm.Tool) string {
	var b strings.Builder
	b.WriteString("I am **sim-default**, a simulated model. I need no key and no network: I follow a few simple rules, so that you can " +
		"see how an agent streams its answers and uses its tools.\n\n")
	if gist := firstLine(text, ""); gist != "" {
		b.WriteString("You wrote:\n\n> " + gist + "\n\nI have no rule for that. ")
	}
	const most = 4
	offered := 0
	for _, s := range suggestions {
		for i := range tools {
			if tools[i].Name != s.tool || offered == most {
				continue
			}
			if offered == 0 {
				b.WriteString("With the tools of this agent you could try:\n\n")
			}
			offered++
			b.WriteString("- " + s.text + "\n")
		}
	}
	if offered == 0 {
		b.WriteString("This agent has none of the tools that I know. Give it the `files` capability, for example, and ask me to write a file.")
	}
	return strings.TrimRight(b.String(), "\n")
}

// firstLine returns a text shortened to one line; otherwise when it is empty.
func firstLine(text, otherwise string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return otherwise
	}
	if short := texts.Cut(text, most); short != text {
		return short + "…"
	}
	return text
}

// sentenceList joins texts as a sentence would.
func sentenceList(items []string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}
