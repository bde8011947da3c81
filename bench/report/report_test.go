package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestMediansAndQuantiles(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	if got := Median(values); got != 3 {
		t.Errorf("median %v", got)
	}
	if got := Quantile(values, 0.875); got != 4.5 {
		t.Errorf("quantile %v", got)
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Figure{
		"target":       {Samples: []float64{100}, Ratios: []float64{0.5, 0.7, 0.6}, Gate: AtLeast(0.3), Target: AtLeast(0.6)},
		"gate":         {Value: 3, Gate: AtMost(5), Target: AtMost(2)},
		"MISSED":       {Value: 100, Ratios: []float64{0.2}, Gate: AtLeast(0.3), Target: AtLeast(0.6)},
		"below target": {Value: 17, Target: AtMost(12)},
		"":             {Value: 1},
	} {
		var run Run
		run.Add(f)
		if got := run.Figures[0].Verdict(); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
		if missed := run.Missed(); (missed == 1) != (want == "MISSED") {
			t.Errorf("%q: %d missed", want, missed)
		}
	}
}

func TestALineHoldsAllThatIsNeededToJudgeIt(t *testing.T) {
	t.Parallel()
	run := Run{Commit: "abc", Machine: ThisMachine(), Durability: map[string]string{"sqlite": "FULL"}}
	run.Add(Figure{ID: "P1", Database: "sqlite", Samples: []float64{1, 2, 3}, Gate: AtLeast(1)})
	var out bytes.Buffer
	if err := run.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "database", "value", "samples", "commit", "machine", "durability", "verdict", "time", "gate"} {
		if line[name] == nil {
			t.Errorf("no %s in %s", name, out.Bytes())
		}
	}
}

func TestAFigureThatWasNotTakenHasNoNumber(t *testing.T) {
	t.Parallel()
	var run Run
	run.Add(Figure{ID: "P10", Database: "sqlite", Name: "MCP", Unit: "ms", Gate: AtMost(10), Absent: true, Note: "there is none"})
	var table, lines bytes.Buffer
	if err := errors.Join(run.WriteTable(&table), run.WriteJSON(&lines)); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")
	if fields := strings.Fields(rows[len(rows)-1]); len(fields) < 4 || fields[3] != "–" {
		t.Errorf("the row is %q", rows[len(rows)-1])
	}
	if run.Missed() != 0 || !strings.Contains(lines.String(), `"absent":true`) || strings.Contains(lines.String(), `"verdict"`) {
		t.Errorf("%d missed: %s", run.Missed(), lines.Bytes())
	}
}
