package simulated_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

func guide(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/simulated-models.md")
	noError(t, err)
	return string(b)
}

func codeBlocks(doc string) []string {
	found := regexp.MustCompile("(?ms)^```(?:json|yaml)\n(.*?)^```$").FindAllStringSubmatch(doc, -1)
	blocks := make([]string, 0, len(found))
	for _, b := range found {
		blocks = append(blocks, b[1])
	}
	return blocks
}

// Each script of the guide runs to its end, or to the failure that it is about.
//
// Rules: M2.
func TestGuideScripts(t *testing.T) {
	blocks := codeBlocks(guide(t))
	equal(t, 5, len(blocks))
	var failures []string
	for _, text := range blocks {
		req := script(user(text))
		for step := 0; ; step++ {
			res, err := (&recorder{}).stream(context.Background(), req)
			if err != nil {
				e := asError(t, err)
				equal(t, false, e.Code == llm.CodeMisconfigured)
				failures = append(failures, string(e.Code))
				break
			}
			if textParts(res) == "(script ended)" {
				break
			}
			if step > 10 {
				t.Fatalf("the script doesn't end:\n%s", text)
			}
			req.Messages = append(req.Messages, llm.Message{Role: models.MessageAgent, Parts: res.Parts})
		}
	}
	equal(t, []string{"provider_unavailable", "provider_rate_limited", "provider_quota_exhausted"}, failures)
}

// Each message of the guide leads to the calls that it promises.
func TestGuideMessages(t *testing.T) {
	_, rest, _ := strings.Cut(guide(t), "| You say | It calls |\n| --- | --- |\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(table, "\n")
	equal(t, 16, len(rows))
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user(cells[0])}}
		steps, _ := turn(t, fakeTools{}, &req, nil)
		responses := make([]string, 0, len(steps))
		for _, step := range steps {
			names := make([]string, 0, len(step))
			for _, call := range step {
				name, _, _ := strings.Cut(call, "{")
				names = append(names, name)
			}
			responses = append(responses, strings.Join(names, ", "))
		}
		equal(t, cells[1], strings.Join(responses, " → "))
	}
}

// The guide names all models, and the suggestions of sim-default work.
func TestGuideNamesTheModels(t *testing.T) {
	for _, m := range simulated.Models() {
		contains(t, guide(t), "| `"+m.Name+"` |")
	}
	res, err := (&recorder{}).stream(context.Background(), llm.Request{Model: "sim-default", Tools: allTools()})
	noError(t, err)
	for line := range strings.Lines(textParts(res)) {
		if suggestion, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			req := llm.Request{Model: "sim-default", Tools: allTools(), Messages: []llm.Message{user(suggestion)}}
			steps, _ := turn(t, fakeTools{}, &req, nil)
			equal(t, true, len(steps) > 0)
		}
	}
}
