package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const metricsToken = "a-token-for-the-metrics"

// metricsOf reads the metrics of a process.
func metricsOf(t *testing.T, p *process) map[string]*dto.MetricFamily {
	t.Helper()
	status, body := getMetrics(t, p, http.Header{"Authorization": {"Bearer " + metricsToken}})
	if status != http.StatusOK {
		t.Fatalf("GET /metrics: %d %s", status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("the metrics can't be read: %v\n%s", err, body)
	}
	return families
}

func getMetrics(t *testing.T, p *process, header http.Header) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// sum adds the series of a family up that have these labels: values of counters and gauges, and how often histograms were told something.
func sum(f *dto.MetricFamily, labels ...string) (n float64) {
	for _, m := range f.GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		fits := true
		for i := 0; i < len(labels); i += 2 {
			fits = fits && have[labels[i]] == labels[i+1]
		}
		if fits {
			n += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return n
}

// After real turns every metric that is documented is there and has moved, but for those of what has not happened, and no other is there.
func TestMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(ostler_[a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = strings.ToUpper(row[2])
	}
	// What must not happen, or has not happened here. The queue is empty again, and idle connections need no one to wait.
	still := []string{
		"ostler_commit_failures_total", "ostler_panics_total", "ostler_subscriptions_lagged_total", "ostler_queue_depth", "ostler_queue_orgs",
		"ostler_budget_differences", "ostler_budgets_checked_total", "ostler_turns_running", "ostler_event_streams", "ostler_database_waits_total", "ostler_database_wait_seconds_total",
	}
	eachDatabase(t, func(t *testing.T, at *place) {
		env := at.with(map[string]string{"OSTLER_METRICS_TOKEN": metricsToken, "OSTLER_ENV": "development"})
		p := start(t, env)
		c := signIn(t, p)
		session := c.session(t, c.agent(t, "scripted", "sim-script", "core", "files"))
		sub := c.subscribe(t, session, 0)
		c.message(t, session, `{"responses": [
			{"chunks": [{"text": "First "}, {"tool_call": {"name": "write_todos", "arguments": {"todos": [{"content": "a", "status": "pending"}]}}}]},
			{"chunks": [{"text": "done."}]}]}`)
		sub.untilKind(t, "TURN_COMPLETED", 1)
		c.message(t, session, `{"responses": [{"chunks": [{"error": {"status": 401}}]}]}`)
		sub.untilKind(t, "TURN_FAILED", 1)
		_, _ = c.answer(t, "{ nonsense }", nil)

		// The turn that dies with its process is recovered by the next one.
		c.message(t, session, `{"responses": [{"ttft_ms": 600000, "chunks": [{"text": "never"}]}]}`)
		sub.untilKind(t, "TURN_STARTED", 3)
		before := metricsOf(t, p)
		p.kill()
		p = p.again(t, env)
		eventually(t, "the turn is recovered", func() error {
			if n := sum(metricsOf(t, p)["ostler_turn_recoveries_total"]); n != 1 {
				return fmt.Errorf("%v recoveries", n)
			}
			return nil
		})
		after := metricsOf(t, p)

		for name, kind := range documented {
			family := before[name]
			if family == nil {
				family = after[name]
			}
			if family == nil {
				t.Errorf("%s is not there", name)
				continue
			}
			if got := family.GetType().String(); got != kind {
				t.Errorf("%s is a %s, and documented as %s", name, got, kind)
			}
			if sum(before[name])+sum(after[name]) == 0 && !slices.Contains(still, name) {
				t.Errorf("%s has not moved", name)
			}
		}
		for name := range before {
			if strings.HasPrefix(name, "ostler_") && documented[name] == "" {
				t.Errorf("%s is not documented", name)
			}
		}
		for _, want := range []struct {
			name   string
			labels []string
			n      float64
		}{
			{"ostler_turns_started_total", nil, 3},
			{"ostler_turns_ended_total", []string{"status", "completed"}, 1},
			{"ostler_turns_ended_total", []string{"status", "failed"}, 1},
			{"ostler_turns_ended_total", []string{"status", "sealed"}, 0},
			{"ostler_turn_phase_duration_seconds", []string{"phase", "reason"}, 3},
			{"ostler_turn_phase_duration_seconds", []string{"phase", "act"}, 1},
			{"ostler_turn_duration_seconds", nil, 2},
			{"ostler_turn_first_token_seconds", nil, 1},
			{"ostler_model_first_token_seconds", []string{"provider", "simulated"}, 2},
			{"ostler_model_errors_total", []string{"provider", "simulated", "code", "provider_misconfigured"}, 1},
			{"ostler_queue_wait_seconds", []string{"class", "light"}, 3},
			{"ostler_sockets", nil, 1},
			{"ostler_subscribers", nil, 1},
			{"ostler_subscribed_streams", nil, 1},
			{"ostler_graphql_operations_total", []string{"type", "subscription", "code", "OK"}, 1},
			{"ostler_graphql_operations_total", []string{"type", "unknown", "code", "GRAPHQL_VALIDATION_FAILED"}, 1},
			{"ostler_queue_depth_complete", nil, 1},
			{"ostler_panics_total", nil, 0},
			{"ostler_turns_running", nil, 1},
		} {
			if got := sum(before[want.name], want.labels...); got != want.n {
				t.Errorf("%s %v is %v, want %v", want.name, want.labels, got, want.n)
			}
		}
	})
}

// Nobody reads the metrics without a right to, and no series has a name that somebody chose.
func TestWhoReadsMetrics(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, at *place) {
		p := start(t, at.env)
		c := signIn(t, p)
		bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
		check := func(who string, header http.Header, status int) {
			t.Helper()
			if got, body := getMetrics(t, p, header); got != status || (got == 200) != strings.Contains(body, "ostler_build_info") {
				t.Errorf("%s: got %d, want %d", who, got, status)
			}
		}
		check("this machine", nil, 200)
		check("a proxy on this machine", http.Header{"X-Forwarded-For": {"203.0.113.7"}}, 404)
		check("nobody known", bearer("nonsense"), 401)

		for _, change := range []struct {
			command string
			status  int
		}{{"remove", 401}, {"add", 200}} { // the first owner is one
			done(t, at.env, "admin", "operator", change.command, "--email="+ownerEmail)
			eventually(t, "the answer follows the right", func() error {
				if got, _ := getMetrics(t, p, bearer(c.Token)); got != change.status {
					return fmt.Errorf("%s: got %d", change.command, got)
				}
				return nil
			})
		}

		session := c.session(t, c.agent(t, "an-agent-of-a-name", "sim-echo"))
		c.message(t, session, "hello")
		_, body := getMetrics(t, p, nil)
		for _, chosen := range []string{ownerEmail, "an-agent-of-a-name", session, "org_", "user_"} {
			if strings.Contains(body, chosen) {
				t.Errorf("the metrics name %q", chosen)
			}
		}
	})
}
