package docs_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ostler-dev/ostler/internal/metrics"
	"github.com/ostler-dev/ostler/internal/store"
)

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(ostler_[a-z_]+)` \\| (?:gauge|counter|histogram) \\|([^|]*)\\|")
	metricDesc = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", .*variableLabels: \{([^}]*)\}\}$`)
)

// TestMetricsAreDocumented compares the table with what a process has, by names and labels, both ways. The types, and that each of them
// moves, are looked at in a whole program (e2e).
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = strings.NewReplacer("`", "", " ", "").Replace(row[2])
	}
	m := metrics.New("v1")
	none := func() int { return 0 }
	m.Watch(metrics.Sources{
		Backlog:    func(context.Context) (metrics.Backlog, error) { return metrics.Backlog{}, nil },
		Recoveries: func() int64 { return 0 }, Running: func() (int, int) { return 0, 0 }, Subscribers: none, Streams: none,
		Connections: func() (int, int) { return 0, 0 }, Pools: func() []store.PoolStats { return nil }, BusConnected: func() bool { return true },
	})
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		m.Describe(descs)
	}()
	seen := map[string]bool{}
	for desc := range descs {
		parts := metricDesc.FindStringSubmatch(desc.String())
		if parts == nil {
			t.Fatalf("%s can't be read", desc)
		}
		name, labels := parts[1], parts[2]
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		seen[name] = true
		if said, ok := documented[name]; !ok || said != labels {
			t.Errorf("docs/metrics.md says that the labels of %s are %q (it is there: %v); they are %q", name, said, ok, labels)
		}
	}
	for name := range documented {
		if !seen[name] {
			t.Errorf("docs/metrics.md has %s, which the program doesn't", name)
		}
	}
}
