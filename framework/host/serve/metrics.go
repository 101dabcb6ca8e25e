package serve

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
)

// metrics are what /metrics tells: the HTTP side is counted here, the engine's counts are read when somebody asks.
type metrics struct {
	registry    *prometheus.Registry
	requests    *prometheus.CounterVec   // by route and status
	durations   *prometheus.HistogramVec // by route
	first       prometheus.Histogram
	queue       prometheus.Histogram
	inFlight    prometheus.Gauge
	connections *prometheus.GaugeVec // by state
	states      connectionStates
	reloads     *prometheus.CounterVec
	reloaded    prometheus.Gauge
}

// seconds are the buckets of durations.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

func newMetrics(e Engine) *metrics {
	m := &metrics{
		registry:    prometheus.NewRegistry(),
		requests:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mdmhost_http_requests_total", Help: "Requests that were answered."}, []string{"route", "status"}),
		durations:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mdmhost_http_request_seconds", Help: "From a request's header to the end of its answer.", Buckets: seconds}, []string{"route"}),
		first:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "mdmhost_first_news_seconds", Help: "From a request to its first step, or to its first row where it asked for no steps.", Buckets: seconds}),
		queue:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "mdmhost_queue_seconds", Help: "From a request to the start of its first row.", Buckets: seconds}),
		inFlight:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "mdmhost_http_requests_in_flight", Help: "Requests on their way."}),
		connections: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mdmhost_http_connections", Help: "Open connections: new, active or idle."}, []string{"state"}),
		reloads:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mdmhost_reloads_total", Help: "Reloads of the settings: taken, or refused."}, []string{"result"}),
		reloaded:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "mdmhost_settings_loaded_timestamp_seconds", Help: "When the settings in use were taken up."}),
	}
	m.reloaded.SetToCurrentTime()
	for _, result := range []string{"taken", "refused"} {
		m.reloads.WithLabelValues(result) // 0 is told, too
	}
	m.registry.MustRegister(m.requests, m.durations, m.first, m.queue, m.inFlight, m.connections, m.reloads, m.reloaded, engineMetrics{e},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// begin counts a request in; the returned function counts it out.
func (m *metrics) begin() func(route string, status int, took time.Duration, e *entry, began time.Time) {
	m.inFlight.Inc()
	return func(route string, status int, took time.Duration, e *entry, began time.Time) {
		m.inFlight.Dec()
		m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
		m.durations.WithLabelValues(route).Observe(took.Seconds())
		if !e.first.IsZero() {
			m.first.Observe(e.first.Sub(began).Seconds())
		}
		if !e.begun.IsZero() {
			m.queue.Observe(max(0, e.begun.Sub(began).Seconds()))
		}
	}
}

// connection follows the connections of a server.
func (m *metrics) connection(c net.Conn, now http.ConnState) {
	before, known := m.states.change(c, now)
	if known {
		m.connections.WithLabelValues(before.String()).Dec()
	}
	if now != http.StateClosed && now != http.StateHijacked {
		m.connections.WithLabelValues(now.String()).Inc()
	}
}

// engineMetrics are an engine's counts.
type engineMetrics struct{ engine Engine }

// kindLabels tell lanes apart.
var kindLabels = []string{"model", "planner", "sampler"}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("mdmhost_"+name, help, labels, nil)
}

var (
	queuedDesc  = desc("queue_rows", "Rows that wait.")
	refusedDesc = desc("refused_total", "Requests that found no room.")
	rowsDesc    = desc("rows_total", "Rows that ended: finished, failed or cancelled.", append(kindLabels, "finish")...)
	batchDesc   = desc("batch_rows", "Rows that may share a forward pass.", kindLabels...)
)

// kindMetrics are those of lanes with one model, planner and sampler.
var kindMetrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*engine.KindStats) float64
}{
	{desc("lanes", "Lanes that are open.", kindLabels...), prometheus.GaugeValue, func(s *engine.KindStats) float64 { return float64(s.Lanes) }},
	{desc("lanes_opened_total", "Lanes that were opened.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.Opened) }},
	{desc("lanes_closed_total", "Lanes that were closed.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.Closed) }},
	{desc("lanes_restarted_total", "Lanes whose host failed and was replaced.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.Reopened) }},
	{desc("plugins_replaced_total", "Processes of planners and samplers that died and had others take their place.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.Replaced) }},
	{desc("rows_running", "Rows that run.", kindLabels...), prometheus.GaugeValue, func(s *engine.KindStats) float64 { return float64(s.Running) }},
	{desc("passes_total", "Forward passes of a batch.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.Passes) }},
	{desc("nfe_total", "Forward passes of rows: by mdmhost_passes_total, the rows of a batch.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.RowPasses) }},
	{desc("tokens_total", "Positions that were written in rows that ended.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return float64(s.Tokens) }},
	{desc("denoise_seconds_total", "Time in the runtime.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return s.Denoise.Seconds() }},
	{desc("plan_seconds_total", "Time in planners and their networks.", kindLabels...), prometheus.CounterValue, func(s *engine.KindStats) float64 { return s.Plan.Seconds() }},
}

// Describe is for [prometheus.Collector].
func (engineMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queuedDesc, refusedDesc, rowsDesc, batchDesc} {
		out <- d
	}
	for _, m := range kindMetrics {
		out <- m.desc
	}
}

// Collect is for [prometheus.Collector].
func (m engineMetrics) Collect(out chan<- prometheus.Metric) {
	stats := m.engine.Stats()
	out <- prometheus.MustNewConstMetric(queuedDesc, prometheus.GaugeValue, float64(stats.Queued))
	out <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, float64(stats.Refused))
	for i := range stats.Kinds {
		s := &stats.Kinds[i]
		labels := []string{s.Model, s.Planner, s.Sampler}
		for _, m := range kindMetrics {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), labels...)
		}
		out <- prometheus.MustNewConstMetric(batchDesc, prometheus.GaugeValue, float64(s.Batch), labels...)
		for finish, n := range map[string]uint64{"finished": s.Finished, "failed": s.Failed, "cancelled": s.Cancelled} {
			out <- prometheus.MustNewConstMetric(rowsDesc, prometheus.CounterValue, float64(n), append(labels[:3:3], finish)...)
		}
	}
}
