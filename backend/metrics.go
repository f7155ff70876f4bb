package backend

import (
	"context"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveMetrics serves metrics and profiles on loopback. Ids are never labels.
func (o *owner) serveMetrics(ctx context.Context) error {
	listener, err := listen("metrics_listen", o.cfg.MetricsListen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.metrics(), promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return serveHTTP(ctx, newHTTPServer(mux, bodyTimeout, o.log), listener, "", "")
}

func (o *owner) metrics() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	count := func(name, help string, read func() uint64) {
		registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "rockpool_" + name + "_total", Help: help}, func() float64 { return float64(read()) }))
	}
	registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "rockpool_channel_open", Help: "Connections of the channel now."},
		func() float64 { return float64(o.hub.Counts().Open) }))
	count("channel_sessions", "Hellos that became a session.", func() uint64 { return o.hub.Counts().Sessions })
	count("channel_refused", "Upgrades and hellos refused.", func() uint64 { return o.hub.Counts().Refused })
	count("channel_over_budget", "Upgrades put off for the accept budget.", func() uint64 { return o.hub.Counts().OverBudget })
	count("channel_bad_messages", "Connections closed for what they sent.", func() uint64 { return o.hub.Counts().BadMessages })
	count("channel_unknown_types", "Messages of an unknown type.", func() uint64 { return o.hub.Counts().UnknownTypes })
	count("channel_unknown_keys", "Unknown keys in messages.", func() uint64 { return o.hub.Counts().UnknownKeys })
	count("channel_claimed_keys", "Keys and labels that claimed a pool or an owner.", func() uint64 { return o.hub.Counts().ClaimedKeys })
	count("channel_slow_consumers", "Connections closed because they did not read.", func() uint64 { return o.hub.Counts().SlowConsumers })
	count("channel_rate_limited", "Connections closed because they sent more than they may.", func() uint64 { return o.hub.Counts().RateLimited })
	count("channel_stray_rotated", "Words of a node's new secret that nobody waited for.", func() uint64 { return o.hub.Counts().StrayRotated })
	count("channel_unwritten", "Lines of the log and audit entries that were too many of one peer.", func() uint64 { return o.hub.Counts().Unwritten })
	count("credentials_wrong", "Credentials of nodes that were wrong.", func() uint64 { return o.desk.Counts().Wrong })
	count("credentials_held_back", "Credentials not looked at because their address guesses.", func() uint64 { return o.desk.Counts().Limited })
	return registry
}
