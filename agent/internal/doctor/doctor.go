// Package doctor looks at the way from this machine to the control plane, step by
// step, and says of each what to do.
package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"rockpool/shared/wire"
)

// Verdicts of a Finding.
const (
	OK   = "ok"
	Warn = "warn" // it works, and will give trouble
	Fail = "fail"
)

// Finding is one line of the report.
type Finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"` // what was seen, and what to do about it
}

// Way is what is looked at.
type Way struct {
	Server *url.URL
	TLS    *tls.Config                                     // nil: the system's roots
	Proxy  func(*http.Request) (*url.URL, error)           // as the agent uses it
	Wait   time.Duration                                   // for each answer
	Idle   time.Duration                                   // how long a connection is left silent; 0: not looked at
	Lookup func(context.Context, string) ([]string, error) // nil: the system's resolver
	Now    func() time.Time
}

// Skew of the clock that is told, and that breaks certificates and expiries.
const (
	warnSkew = 30 * time.Second
	failSkew = 5 * time.Minute
)

// Look goes the way until a step fails that the next ones need.
func (w Way) Look(ctx context.Context) (found []Finding) {
	host, proxied, finding := w.proxy()
	found = append(found, finding)
	for _, step := range []func(context.Context) Finding{
		func(ctx context.Context) Finding { return w.name(ctx, host) },
		func(ctx context.Context) Finding { return w.connect(ctx, host, proxied) },
		w.certificate, w.clock, w.channel, w.idle,
	} {
		if found[len(found)-1].Verdict == Fail {
			return found
		}
		if f := step(ctx); f.Check != "" {
			found = append(found, f)
		}
	}
	return found
}

// proxy tells which machine is dialed, and whether that is a proxy.
func (w Way) proxy() (host string, proxied bool, f Finding) {
	f = Finding{"proxy", OK, "none is set: the control plane is dialed directly"}
	host = hostPort(w.Server)
	proxy, err := w.Proxy(&http.Request{URL: w.Server})
	switch {
	case err != nil:
		return host, false, Finding{"proxy", Fail, "HTTPS_PROXY or HTTP_PROXY can't be read: " + err.Error()}
	case proxy == nil:
		return host, false, f
	}
	return hostPort(proxy), true, Finding{"proxy", OK, proxy.Redacted() + " is used; NO_PROXY takes a name out"}
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80", "socks5": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (w Way) name(ctx context.Context, address string) Finding {
	host, _, _ := net.SplitHostPort(address)
	if net.ParseIP(host) != nil {
		return Finding{}
	}
	lookup := w.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	ctx, cancel := context.WithTimeout(ctx, w.Wait)
	defer cancel()
	addresses, err := lookup(ctx, host)
	if err != nil {
		return Finding{"name", Fail, fmt.Sprintf("%s has no address: %v: correct server_url, or this machine's resolver", host, err)}
	}
	return Finding{"name", OK, host + " is " + strings.Join(addresses, ", ")}
}

func (w Way) connect(ctx context.Context, address string, proxied bool) Finding {
	dialer := net.Dialer{Timeout: w.Wait}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		what := "the control plane"
		if proxied {
			what = "the proxy"
		}
		return Finding{"connection", Fail, fmt.Sprintf("%s can't be reached: %v: allow this machine to connect to %s", what, err, address)}
	}
	_ = conn.Close()
	return Finding{"connection", OK, address + " answers"}
}

// client makes requests as the agent does, without following redirects.
func (w Way) client() *http.Client {
	return &http.Client{
		Timeout:       w.Wait,
		Transport:     &http.Transport{Proxy: w.Proxy, TLSClientConfig: w.TLS, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (w Way) get(ctx context.Context, client *http.Client, path string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Server.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	return response, response.Body.Close()
}

// livePath answers while the process lives.
const livePath = "/livez"

// certificate tells who vouches for the server: a middlebox that reads along signs
// with a CA of its own.
func (w Way) certificate(ctx context.Context) Finding {
	if w.Server.Scheme != "https" {
		return Finding{"certificate", Warn, "plain http: whoever is on the way reads secrets: use https"}
	}
	client := w.client()
	defer client.CloseIdleConnections()
	response, err := w.get(ctx, client, livePath, nil)
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted) && len(untrusted.UnverifiedCertificates) > 0:
		return Finding{"certificate", Fail, fmt.Sprintf("issued by %q, which is not trusted (%v): if that is your own CA, or a proxy that reads along, put its certificate into ca_file",
			untrusted.UnverifiedCertificates[0].Issuer, untrusted.Err)}
	case err != nil:
		return Finding{"certificate", Fail, "no TLS connection: " + err.Error() + ": something on the way cuts it, or this is no https server"}
	}
	leaf := response.TLS.PeerCertificates[0]
	text := fmt.Sprintf("issued by %q, good until %s; another issuer than the fleet's operator names means that a proxy reads along", leaf.Issuer, leaf.NotAfter.Format(time.DateOnly))
	if leaf.NotAfter.Before(w.Now().Add(7 * 24 * time.Hour)) {
		return Finding{"certificate", Warn, text + "; it expires soon: tell the operator"}
	}
	return Finding{"certificate", OK, text}
}

func (w Way) clock(ctx context.Context) Finding {
	client := w.client()
	defer client.CloseIdleConnections()
	response, err := w.get(ctx, client, livePath, nil)
	if err != nil {
		return Finding{"clock", Fail, "the control plane does not answer: " + err.Error()}
	}
	theirs, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return Finding{"clock", Warn, "the answer has no date to compare with"}
	}
	skew := w.Now().Sub(theirs).Round(time.Second)
	switch {
	case skew.Abs() > failSkew:
		return Finding{"clock", Fail, fmt.Sprintf("differs from the control plane's by %v: set this machine's clock (timedatectl set-ntp true)", skew)}
	case skew.Abs() > warnSkew:
		return Finding{"clock", Warn, fmt.Sprintf("differs from the control plane's by %v: logs will not match; let NTP set it", skew)}
	}
	return Finding{"clock", OK, fmt.Sprintf("differs from the control plane's by %v", skew)}
}

// channel asks for the upgrade without a credential: a control plane refuses that
// with 401, and whatever else answers stands in the way.
func (w Way) channel(ctx context.Context) Finding {
	client := w.client()
	defer client.CloseIdleConnections()
	response, err := w.get(ctx, client, wire.ChannelPath, http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {"cm9ja3Bvb2wtZG9jdG9yIQ=="}, "Sec-WebSocket-Protocol": {wire.Subprotocol},
	})
	switch {
	case err != nil:
		return Finding{"channel", Fail, "asking for a WebSocket ends the connection: " + err.Error() + ": let the proxy or firewall pass the header Upgrade"}
	case response.StatusCode == http.StatusUnauthorized:
		return Finding{"channel", OK, "a WebSocket may be asked for; a credential decides then"}
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		return Finding{"channel", Warn, fmt.Sprintf("the control plane takes no new sessions now (%s): ask again in a minute", response.Status)}
	}
	return Finding{"channel", Fail, fmt.Sprintf("asking for a WebSocket is answered with %s: server_url is no control plane, or a proxy on the way does not pass the header Upgrade", response.Status)}
}

// idle leaves a connection silent for a while: a middlebox that forgets it before
// the next heartbeat cuts every session.
func (w Way) idle(ctx context.Context) Finding {
	if w.Idle == 0 {
		return Finding{}
	}
	client := w.client()
	defer client.CloseIdleConnections()
	if _, err := w.get(ctx, client, livePath, nil); err != nil {
		return Finding{"silence", Fail, "the control plane does not answer: " + err.Error()}
	}
	select {
	case <-time.After(w.Idle):
	case <-ctx.Done():
		return Finding{"silence", Warn, "not looked at: interrupted"}
	}
	reused := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	_, err := w.get(ctx, client, livePath, nil)
	switch {
	case err != nil:
		return Finding{"silence", Fail, fmt.Sprintf("a connection that was silent for %v is dead (%v): a middlebox forgets it; sessions will break between heartbeats: raise its idle timeout", w.Idle, err)}
	case !reused:
		return Finding{"silence", Warn, fmt.Sprintf("a connection that was silent for %v had been closed: if a proxy does that to WebSockets too, raise its idle timeout", w.Idle)}
	}
	return Finding{"silence", OK, fmt.Sprintf("a connection that is silent for %v stays open", w.Idle)}
}
