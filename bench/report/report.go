// Package report collects the figures of a run and prints them: one table for people, one JSON line per figure.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is one measured value with what is needed to judge it.
type Figure struct {
	ID       string `json:"id"`       // of docs/benchmarks.md, e.g. "P1"
	Name     string `json:"name"`     // what was measured, e.g. "turns/s, 32 sessions"
	Database string `json:"database"` // "sqlite", "postgres"
	Unit     string `json:"unit"`
	// Value is the median of Samples, or the only one.
	Value   float64   `json:"value"`
	Samples []float64 `json:"samples,omitempty"`
	// Floor, Ratio and Ratios belong to figures that were taken beside the floor: its median, the median of the
	// pairs' ratios, and all of them.
	Floor  float64   `json:"floor,omitempty"`
	Ratio  float64   `json:"ratio,omitempty"`
	Ratios []float64 `json:"ratios,omitempty"`
	// CPUMillis is the processor time per operation of everything together, and of the floor's run.
	CPUMillis      float64 `json:"cpu_ms_per_op,omitempty"`
	FloorCPUMillis float64 `json:"floor_cpu_ms_per_op,omitempty"`
	// Foreign is the share of the machine's processors that programs outside of the run had meanwhile.
	Foreign float64 `json:"foreign_cpu,omitempty"`
	// Gate must be held, Target is the aim. Both speak of Ratio when there is one, of Value otherwise.
	Gate   *Bound `json:"gate,omitempty"`
	Target *Bound `json:"target,omitempty"`
	Note   string `json:"note,omitempty"`
	// Absent is true when the figure could not be taken; Note says why. It has no value and is not judged.
	Absent bool `json:"absent,omitempty"`
}

// Bound is a limit of a figure.
type Bound struct {
	Limit float64 `json:"limit"`
	// Least is true when Limit is a least value; otherwise it is a greatest one.
	Least bool `json:"least"`
}

// AtLeast and AtMost make bounds.
func AtLeast(limit float64) *Bound { return &Bound{Limit: limit, Least: true} }

// AtMost makes a bound that a figure must not exceed.
func AtMost(limit float64) *Bound { return &Bound{Limit: limit} }

func (b *Bound) holds(v float64) bool {
	if b.Least {
		return v >= b.Limit
	}
	return v <= b.Limit
}

func (b *Bound) String() string {
	if b == nil {
		return ""
	}
	if b.Least {
		return "≥ " + number(b.Limit)
	}
	return "≤ " + number(b.Limit)
}

// judged is the value that bounds speak of.
func (f *Figure) judged() float64 {
	if len(f.Ratios) > 0 {
		return f.Ratio
	}
	return f.Value
}

// Verdict is "target", "gate", "MISSED" (the gate), "below target" (there is no gate), or empty without bounds or value.
func (f *Figure) Verdict() string {
	switch {
	case f.Absent || f.Gate == nil && f.Target == nil:
		return ""
	case f.Target != nil && f.Target.holds(f.judged()):
		return "target"
	case f.Gate == nil:
		return "below target"
	case f.Gate.holds(f.judged()):
		return "gate"
	default:
		return "MISSED"
	}
}

// disturbed is the foreign share above which a figure is marked: it may say more of the others than of us.
const disturbed = 0.10

// Run is what all figures of a run have in common.
type Run struct {
	Time    time.Time `json:"time"`
	Commit  string    `json:"commit"`
	Machine Machine   `json:"machine"`
	// Durability tells per database how a commit is made to last.
	Durability map[string]string `json:"-"`
	Figures    []Figure          `json:"-"`
}

// Add puts a figure into the run, with the median of its samples as its value.
func (r *Run) Add(f Figure) {
	if len(f.Samples) > 0 {
		f.Value = Median(f.Samples)
	}
	if len(f.Ratios) > 0 {
		f.Ratio = Median(f.Ratios)
	}
	r.Figures = append(r.Figures, f)
}

// Missed counts the figures that don't hold their gate.
func (r *Run) Missed() int {
	missed := 0
	for i := range r.Figures {
		if r.Figures[i].Verdict() == "MISSED" {
			missed++
		}
	}
	return missed
}

// WriteTable prints the figures for people.
func (r *Run) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "\n%s · commit %s · %s\n", r.Machine, r.Commit, r.Time.UTC().Format(time.RFC3339))
	for _, name := range sortedKeys(r.Durability) {
		fmt.Fprintf(w, "%s: %s\n", name, r.Durability[name])
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "id\tdatabase\twhat\tmedian\tunit\tspread\tfloor\tratio\tof pairs\tCPU-ms\tgate\ttarget\tholds\tnote")
	for i := range r.Figures {
		f := &r.Figures[i]
		value, cpu := number(f.Value), optional(f.CPUMillis)
		if f.Absent {
			value = number(math.NaN())
		}
		if f.FloorCPUMillis != 0 {
			cpu += " (" + number(f.FloorCPUMillis) + ")"
		}
		note := f.Note
		if f.Foreign > disturbed {
			note = strings.TrimPrefix(fmt.Sprintf("%s; DISTURBED: %.0f %% of the machine was used by others", note, f.Foreign*100), "; ")
		}
		fmt.Fprintln(table, strings.Join([]string{
			f.ID, f.Database, f.Name, value, f.Unit, spread(f.Samples), optional(f.Floor), optional(f.Ratio),
			spread(f.Ratios), cpu, f.Gate.String(), f.Target.String(), f.Verdict(), note,
		}, "\t"))
	}
	return table.Flush()
}

// WriteJSON prints one line per figure.
func (r *Run) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range r.Figures {
		f := r.Figures[i]
		line := struct {
			*Run
			Figure
			Durability string `json:"durability"`
			Verdict    string `json:"verdict,omitempty"`
		}{r, f, r.Durability[f.Database], f.Verdict()}
		if err := encoder.Encode(line); err != nil {
			return fmt.Errorf("write figure %s: %w", f.ID, err)
		}
	}
	return nil
}

// Median returns the middle of the values, NaN when there are none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the value below which a share q of the values lies, interpolated; NaN when there are none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

func spread(values []float64) string {
	if len(values) < 2 {
		return ""
	}
	return number(slices.Min(values)) + "–" + number(slices.Max(values))
}

func optional(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// number prints three significant digits, and all digits before the point.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 100 || a == math.Trunc(a):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
