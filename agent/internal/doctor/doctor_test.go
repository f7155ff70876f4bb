package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rockpool/shared/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a control plane, or what stands in its place.
type place struct {
	channel   int  // status of an upgrade without a credential
	closes    bool // connections after each answer
	encrypted bool
}

// way leads to a place with nothing wrong.
func way(t *testing.T, p place) Way {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+livePath, func(w http.ResponseWriter, _ *http.Request) {
		if p.closes {
			w.Header().Set("Connection", "close")
		}
	})
	mux.HandleFunc("GET "+wire.ChannelPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			t.Error("no upgrade is asked for")
		}
		w.WriteHeader(p.channel)
	})
	server := httptest.NewUnstartedServer(mux)
	t.Cleanup(server.Close)
	w := Way{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, Wait: 20 * time.Second, Idle: time.Millisecond, Now: time.Now}
	if p.encrypted {
		server.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		w.TLS = &tls.Config{RootCAs: roots}
	} else {
		server.Start()
	}
	var err error
	if w.Server, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestLook_NamesWhatIsWrong(t *testing.T) {
	good := place{channel: http.StatusUnauthorized, encrypted: true}
	named := func(w *Way) {
		w.Server.Host = "fleet.example:" + w.Server.Port()
		w.Lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
	}
	dead := func(w *Way) {
		w.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://user:secret@127.0.0.1:1") }
	}
	later := func(by time.Duration) func(*Way) {
		return func(w *Way) { w.Now = func() time.Time { return time.Now().Add(by) } }
	}
	for name, tc := range map[string]struct {
		place          place
		change         func(*Way)
		check, verdict string
		want           string
	}{
		"nothing":             {good, func(*Way) {}, "silence", OK, "stays open"},
		"plain http":          {place{channel: 401}, func(*Way) {}, "certificate", Warn, "use https"},
		"no such name":        {good, named, "name", Fail, "server_url"},
		"proxy is dead":       {good, dead, "connection", Fail, "the proxy can't be reached"},
		"proxy's password":    {good, dead, "proxy", OK, "user:xxxxx@"},
		"proxy is no address": {good, func(w *Way) { w.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("bad") } }, "proxy", Fail, "HTTPS_PROXY"},
		"TLS is intercepted":  {good, func(w *Way) { w.TLS = nil }, "certificate", Fail, "Acme Co"},
		"clock a minute off":  {good, later(time.Minute), "clock", Warn, "1m"},
		"clock an hour off":   {good, later(-time.Hour), "clock", Fail, "timedatectl"},
		"another web server":  {place{channel: 200, encrypted: true}, func(*Way) {}, "channel", Fail, "Upgrade"},
		"proxy drops upgrade": {place{channel: 400, encrypted: true}, func(*Way) {}, "channel", Fail, "Upgrade"},
		"server is full":      {place{channel: 503, encrypted: true}, func(*Way) {}, "channel", Warn, "ask again"},
		"silence is cut":      {place{channel: 401, encrypted: true, closes: true}, func(*Way) {}, "silence", Warn, "idle timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			w := way(t, tc.place)
			tc.change(&w)
			found := w.Look(t.Context())
			for i, f := range found {
				if f.Verdict == Fail && i < len(found)-1 {
					t.Errorf("it went on after %+v", f)
				}
				if f.Check == tc.check && f.Verdict == tc.verdict && strings.Contains(f.Text, tc.want) {
					return
				}
			}
			t.Errorf("found %+v, want %s %s with %q", found, tc.verdict, tc.check, tc.want)
		})
	}
}
