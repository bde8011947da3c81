package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ostler-dev/ostler/internal/store"
)

// Sources tell what there is at the moment. They are asked when the metrics are read, and must answer at once. One that is nil has
// nothing to tell in this process, and its metrics are left out.
type Sources struct {
	// Backlog looks at the queue, at most once in 10 s, in a bounded number of statements.
	Backlog func(ctx context.Context) (Backlog, error)
	// Recoveries counts the turns that were taken over from dead runners.
	Recoveries func() int64
	// Running is how many turns run in this process, and Slots how many may.
	Running func() (running, slots int)
	// Subscribers and Streams are how many subscribers there are, and of how many sessions and feeds.
	Subscribers, Streams func() int
	// Connections are how many sockets and event streams are open.
	Connections func() (sockets, eventStreams int)
	// Pools are the connections to the database.
	Pools func() []store.PoolStats
	// BusConnected reports whether the bus is there.
	BusConnected func() bool
}

// Watch adds what the sources tell. It is called once.
func (m *Metrics) Watch(s Sources) {
	m.classes.now = time.Now
	gauge := func(name, help string, value func() float64) {
		m.register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	if s.Backlog != nil {
		m.classes.look = s.Backlog
		m.register(&queueDepth{classes: &m.classes})
	}
	if s.Recoveries != nil {
		m.register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ostler_turn_recoveries_total", Help: "Turns that this process has taken over from dead runners.",
		}, func() float64 { return float64(s.Recoveries()) }))
	}
	if s.Running != nil {
		gauge("ostler_turns_running", "Turns running in this process.", func() float64 { n, _ := s.Running(); return float64(n) })
		gauge("ostler_runner_slots", "Turns that this process can run at once.", func() float64 { _, n := s.Running(); return float64(n) })
	}
	if s.Subscribers != nil {
		gauge("ostler_subscribers", "Subscriptions open in this process.", func() float64 { return float64(s.Subscribers()) })
	}
	if s.Streams != nil {
		gauge("ostler_subscribed_streams", "Sessions and feeds with subscribers in this process.", func() float64 { return float64(s.Streams()) })
	}
	if s.Connections != nil {
		gauge("ostler_sockets", "WebSockets that are open.", func() float64 { n, _ := s.Connections(); return float64(n) })
		gauge("ostler_event_streams", "Event streams (SSE) that are open.", func() float64 { _, n := s.Connections(); return float64(n) })
	}
	if s.Pools != nil {
		m.register(&pools{read: s.Pools})
	}
	if s.BusConnected != nil {
		gauge("ostler_bus_connected", "1 while the bus to the other processes is connected.", func() float64 {
			if s.BusConnected() {
				return 1
			}
			return 0
		})
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	depthDesc    = describe("ostler_queue_depth", "Ready turns that wait for a runner, by the class of their organization, in all processes.", "class")
	orgsDesc     = describe("ostler_queue_orgs", "Organizations that have such turns, by class.", "class")
	completeDesc = describe("ostler_queue_depth_complete", "1 if all of the queue was counted, 0 if it was too long for that.")
)

// queueDepth shows the newest look at the queue. When that failed it shows nothing, which is not 0.
type queueDepth struct{ classes *classes }

// Describe implements prometheus.Collector.
func (q *queueDepth) Describe(out chan<- *prometheus.Desc) {
	out <- depthDesc
	out <- orgsDesc
	out <- completeDesc
}

// Collect implements prometheus.Collector.
func (q *queueDepth) Collect(out chan<- prometheus.Metric) {
	b := q.classes.newest.Load()
	if b == nil {
		return
	}
	depth, orgs, complete := map[class]int{}, map[class]int{}, 0.0
	for _, n := range b.Waiting {
		depth[classOf(n)] += n
		orgs[classOf(n)]++
	}
	if b.Complete {
		complete = 1
	}
	for _, c := range allClasses {
		out <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(depth[c]), string(c))
		out <- prometheus.MustNewConstMetric(orgsDesc, prometheus.GaugeValue, float64(orgs[c]), string(c))
	}
	out <- prometheus.MustNewConstMetric(completeDesc, prometheus.GaugeValue, complete)
}

var (
	connectionsDesc = describe("ostler_database_connections", "Database connections, by pool and state.", "pool", "state")
	maxDesc         = describe("ostler_database_connections_max", "Maximum number of connections of a pool.", "pool")
	waitsDesc       = describe("ostler_database_waits_total", "How often a connection had to be waited for, by pool.", "pool")
	waitedDesc      = describe("ostler_database_wait_seconds_total", "Total time spent waiting for connections, by pool.", "pool")
)

// pools shows the connections to the database.
type pools struct{ read func() []store.PoolStats }

// Describe implements prometheus.Collector.
func (p *pools) Describe(out chan<- *prometheus.Desc) {
	out <- connectionsDesc
	out <- maxDesc
	out <- waitsDesc
	out <- waitedDesc
}

// Collect implements prometheus.Collector.
func (p *pools) Collect(out chan<- prometheus.Metric) {
	for _, s := range p.read() {
		out <- prometheus.MustNewConstMetric(connectionsDesc, prometheus.GaugeValue, float64(s.InUse), s.Name, "in_use")
		out <- prometheus.MustNewConstMetric(connectionsDesc, prometheus.GaugeValue, float64(s.Idle), s.Name, "idle")
		out <- prometheus.MustNewConstMetric(maxDesc, prometheus.GaugeValue, float64(s.Max), s.Name)
		out <- prometheus.MustNewConstMetric(waitsDesc, prometheus.CounterValue, float64(s.Waits), s.Name)
		out <- prometheus.MustNewConstMetric(waitedDesc, prometheus.CounterValue, s.Waited.Seconds(), s.Name)
	}
}

// handler answers with all metrics. Who may ask is decided before.
type handler struct {
	metrics *Metrics
	text    http.Handler
}

// Handler returns what answers with all metrics. Two at a time are answered; others are told to come later.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return &handler{metrics: m, text: promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 2,
	})}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.metrics.classes.refresh(r.Context())
	h.text.ServeHTTP(w, r)
}
