// Package metrics counts what the parts of a process do, in the form that Prometheus reads. Each part declares the few methods that it
// calls, and Metrics has all of them; what a part has at rest is read from it when somebody asks (sources.go). Labels are closed lists:
// an organization is only ever seen as one of three classes (classes.go). docs/metrics.md lists everything.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/ostler-dev/ostler/internal/models"
)

// Metrics are those of one process, in a registry of their own. Counting never waits for anybody and never fails.
type Metrics struct {
	registry *prometheus.Registry
	classes  classes

	httpRequests   *prometheus.CounterVec
	httpDuration   *prometheus.HistogramVec
	operations     *prometheus.CounterVec
	operationTimes *prometheus.HistogramVec
	panics         *prometheus.CounterVec

	turnsStarted   prometheus.Counter
	turnsEnded     *prometheus.CounterVec
	phases         *prometheus.HistogramVec
	turnDuration   prometheus.Histogram
	turnFirstToken prometheus.Histogram
	queueWait      *prometheus.HistogramVec

	modelCalls      *prometheus.HistogramVec
	modelFirstToken *prometheus.HistogramVec
	modelErrors     *prometheus.CounterVec

	events, lagged prometheus.Counter
	eventLag       prometheus.Histogram

	batchCommands, batchDuration prometheus.Histogram
	batchFailures                prometheus.Counter

	budgetsChecked    prometheus.Counter
	budgetDifferences prometheus.Gauge
}

// The bounds of histograms, in seconds: of what is over in moments, and of what a model or a tool takes.
var (
	moments = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	whiles  = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}
)

// New makes metrics that are all 0. version is the program's.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, bounds []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds})
		m.registry.MustRegister(h)
		return h
	}
	histograms := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
		m.registry.MustRegister(h)
		return h
	}

	m.httpRequests = counters("ostler_http_requests_total", "HTTP requests that have ended, by route and status class.", "route", "status")
	m.httpDuration = histograms("ostler_http_request_duration_seconds", "Duration of HTTP requests, by route; without sockets and event streams.", moments, "route")
	m.operations = counters("ostler_graphql_operations_total", "GraphQL operations by type and by the code of their first error; OK without one.", "type", "code")
	m.operationTimes = histograms("ostler_graphql_operation_duration_seconds", "Duration of the queries and mutations that ran.", moments, "type")
	m.panics = counters("ostler_panics_total", "Panics that were caught, by place.", "where")

	m.turnsStarted = counter("ostler_turns_started_total", "Turns that have begun, as committed by this process.")
	m.turnsEnded = counters("ostler_turns_ended_total", "Turns that have ended, as committed by this process, by their status.", "status")
	m.phases = histograms("ostler_turn_phase_duration_seconds", "Duration of turns' steps, by phase.", whiles, "phase")
	m.turnDuration = histogram("ostler_turn_duration_seconds", "Duration of turns from their message to their end, including waits.", whiles)
	m.turnFirstToken = histogram("ostler_turn_first_token_seconds", "Time from a turn's message to the first text of a model.", whiles)
	m.queueWait = histograms("ostler_queue_wait_seconds", "Time that ready turns waited for a runner, by the class of their organization.", moments, "class")

	m.modelCalls = histograms("ostler_model_call_duration_seconds", "Duration of model calls, including failed ones, by kind of provider.", whiles, "provider")
	m.modelFirstToken = histograms("ostler_model_first_token_seconds", "Time until a model's first text, by kind of provider.", whiles, "provider")
	m.modelErrors = counters("ostler_model_errors_total", "Model calls that failed, by kind of provider and code.", "provider", "code")

	m.events = counter("ostler_events_committed_total", "Events that this process has committed.")
	m.lagged = counter("ostler_subscriptions_lagged_total", "Subscriptions that ended because their reader was too slow.")
	m.eventLag = histogram("ostler_event_lag_seconds", "Time from the start of a commit until subscribers got its events; one in 16 is measured.", moments)

	m.batchCommands = histogram("ostler_commit_batch_commands", "Commands per transaction.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 500})
	m.batchDuration = histogram("ostler_commit_duration_seconds", "Duration of transactions of commands, including their wait for a connection.", moments)
	m.batchFailures = counter("ostler_commit_failures_total", "Transactions of commands that failed; most are retried.")

	m.budgetsChecked = counter("ostler_budgets_checked_total", "Budgets that this process has compared with their ledgers.")
	m.budgetDifferences = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ostler_budget_differences", Help: "Differences between budgets and their ledgers that this process has found; anything but 0 should raise an alarm.",
	})
	m.registry.MustRegister(m.budgetDifferences)

	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ostler_build_info", Help: "Always 1; the label is the program's version."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// begin shows counters with labels that are certain to come at 0, so that a first increase can be seen as one.
func (m *Metrics) begin() {
	for _, status := range endings {
		m.turnsEnded.WithLabelValues(status)
	}
	for _, where := range []string{"http", "graphql", "turn", "commit"} {
		m.panics.WithLabelValues(where)
	}
	for _, class := range allClasses {
		m.queueWait.WithLabelValues(string(class))
	}
}

// Request counts an HTTP request that has ended. route is of a closed list. Those that stay open by nature have no duration: 0.
func (m *Metrics) Request(route string, status int, took time.Duration) {
	m.httpRequests.WithLabelValues(route, statusClass(status)).Inc()
	if took > 0 {
		m.httpDuration.WithLabelValues(route).Observe(took.Seconds())
	}
}

func statusClass(status int) string {
	switch {
	case status >= 100 && status < 600:
		return string('0'+rune(status/100)) + "xx"
	case status == 0:
		return "none" // the connection was cut
	}
	return "other"
}

// Operation counts a GraphQL operation. Kind and code are of closed lists; one that did not run has no duration: 0.
func (m *Metrics) Operation(kind, code string, took time.Duration) {
	m.operations.WithLabelValues(kind, code).Inc()
	if took > 0 {
		m.operationTimes.WithLabelValues(kind).Observe(took.Seconds())
	}
}

// Panicked counts a panic that was caught; where is of a closed list.
func (m *Metrics) Panicked(where string) { m.panics.WithLabelValues(where).Inc() }

// Waited counts a turn that a runner has claimed, after it was ready for so long; running is how many turns of its organization run here.
func (m *Metrics) Waited(org models.OrgID, running int, wait time.Duration) {
	m.queueWait.WithLabelValues(string(m.classes.of(org, running))).Observe(max(wait, 0).Seconds())
}

// Stepped counts a step of a turn.
func (m *Metrics) Stepped(phase models.Phase, took time.Duration) {
	switch phase {
	case models.PhaseReason:
		m.phases.WithLabelValues("reason").Observe(took.Seconds())
	case models.PhaseAct:
		m.phases.WithLabelValues("act").Observe(took.Seconds())
	}
}

// Ended counts how long a turn took in all.
func (m *Metrics) Ended(took time.Duration) { m.turnDuration.Observe(max(took, 0).Seconds()) }

// Spoke counts how long a turn took to its first text.
func (m *Metrics) Spoke(took time.Duration) { m.turnFirstToken.Observe(max(took, 0).Seconds()) }

// Called counts a call of a model. code is that of its failure, of a closed list, or "".
func (m *Metrics) Called(kind models.ProviderKind, code string, took time.Duration) {
	provider := providerLabel(kind)
	m.modelCalls.WithLabelValues(provider).Observe(max(took, 0).Seconds())
	if code != "" {
		m.modelErrors.WithLabelValues(provider, code).Inc()
	}
}

// Answered counts how long a model took to its first text.
func (m *Metrics) Answered(kind models.ProviderKind, took time.Duration) {
	m.modelFirstToken.WithLabelValues(providerLabel(kind)).Observe(max(took, 0).Seconds())
}

func providerLabel(kind models.ProviderKind) string {
	switch kind {
	case models.ProviderAnthropic:
		return "anthropic"
	case models.ProviderOpenAI:
		return "openai"
	case models.ProviderOpenAICompatible:
		return "openai_compatible"
	case models.ProviderGemini:
		return "gemini"
	case models.ProviderSimulated:
		return "simulated"
	}
	return "other"
}

// The statuses of turns that have ended, as labels.
var endings = map[models.EventKind]string{
	models.EventTurnCompleted: "completed", models.EventTurnFailed: "failed", models.EventTurnCancelled: "cancelled",
	models.EventTurnSealed: "sealed",
}

// Published counts events that this process has committed, and the turns that begin and end with them.
func (m *Metrics) Published(list []models.Event) {
	m.events.Add(float64(len(list)))
	for i := range list {
		kind := list[i].Kind
		if kind == models.EventTurnStarted {
			m.turnsStarted.Inc()
		} else if status, ok := endings[kind]; ok {
			m.turnsEnded.WithLabelValues(status).Inc()
		}
	}
}

// Delivered counts how long after its commit an event came to a subscriber.
func (m *Metrics) Delivered(lag time.Duration) { m.eventLag.Observe(max(lag, 0).Seconds()) }

// Lagged counts a subscription that ended because its reader was too slow.
func (m *Metrics) Lagged() { m.lagged.Inc() }

// Committed counts a transaction of commands.
func (m *Metrics) Committed(commands int, took time.Duration) {
	m.batchCommands.Observe(float64(commands))
	m.batchDuration.Observe(took.Seconds())
}

// Failed counts a transaction of commands that failed.
func (m *Metrics) Failed() { m.batchFailures.Inc() }

// BudgetsChecked counts budgets that were held against their ledgers.
func (m *Metrics) BudgetsChecked(n int) { m.budgetsChecked.Add(float64(n)) }

// BudgetDifferences tells how many differences there are at present.
func (m *Metrics) BudgetDifferences(n int) { m.budgetDifferences.Set(float64(n)) }

// register adds what is read when somebody asks.
func (m *Metrics) register(c ...prometheus.Collector) { m.registry.MustRegister(c...) }

var _ http.Handler = (*handler)(nil)

// Describe sends the descriptions of all metrics, for the documentation: it implements half of prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) { m.registry.Describe(out) }
