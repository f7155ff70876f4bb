package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rockpool/shared/wire"
)

// probe is the built-in runner that asks an address over HTTP and tells how it
// answered. It asks the hosts that the node's owner allows and no others, also
// when one of them sends it elsewhere; it shows no credential and uses no proxy.
type probe struct {
	hosts map[string]bool // host, for the usual ports, or host:port
}

// Parameters of http-probe: the address, and the status that it must answer with;
// without one any below 400 will do.
const (
	probeURL    = "url"
	probeStatus = "status"
)

// Bounds of one probe.
const (
	probeTime      = 30 * time.Second
	probeBody      = 1 << 20 // bytes that are read
	probeRedirects = 5
)

func newProbe(hosts []string) (*probe, error) {
	if len(hosts) == 0 {
		return nil, fmt.Errorf(`probe_hosts: is empty although http-probe is among the builtins: list the hosts that jobs may ask, as in ["origin.example", "127.0.0.1:8080"]`)
	}
	t := &probe{hosts: map[string]bool{}}
	for _, host := range hosts {
		u, err := url.Parse("http://" + host)
		if err != nil || u.Host != host || u.Hostname() == "" || strings.Contains(host, "*") {
			return nil, fmt.Errorf("probe_hosts: %q is no host: write origin.example, or 127.0.0.1:8080 for another port than 80 and 443", host)
		}
		if _, err := strconv.ParseUint(u.Port(), 10, 16); strings.HasSuffix(host, ":") || u.Port() != "" && (err != nil || u.Port()[0] == '0') {
			return nil, fmt.Errorf("probe_hosts: %q has no port from 1 to 65535: correct it, or leave it out with its colon for 80 and 443", host)
		}
		t.hosts[strings.ToLower(host)] = true
	}
	return t, nil
}

// usualPorts are those of an address that names none.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// check implements task.
func (t *probe) check(p wire.Payload) error {
	_, _, err := t.asked(p)
	return err
}

// asked reads a payload: the address, and the status that it must answer with, or 0.
func (t *probe) asked(p wire.Payload) (address *url.URL, status int, err error) {
	values, err := fields(p, builtinProbe, func(name string) bool { return name == probeURL || name == probeStatus })
	if err != nil {
		return nil, 0, err
	}
	if address, err = url.Parse(values[probeURL]); err != nil {
		return nil, 0, fmt.Errorf("parameter %s is no address", probeURL)
	}
	if err := t.allows(address); err != nil {
		return nil, 0, fmt.Errorf("parameter %s: %w", probeURL, err)
	}
	if text, given := values[probeStatus]; given {
		if status, err = strconv.Atoi(text); err != nil || status < 100 || status > 599 {
			return nil, 0, fmt.Errorf("parameter %s must be 100 to 599", probeStatus)
		}
	}
	return address, status, nil
}

// allows says why an address must not be asked.
func (t *probe) allows(u *url.URL) error {
	port := cmp.Or(u.Port(), usualPorts[u.Scheme])
	host := strings.ToLower(u.Hostname())
	bare := host
	if strings.Contains(host, ":") {
		bare = "[" + host + "]"
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be http or https")
	case u.User != nil:
		return errors.New("must hold no user and no password")
	case port == usualPorts[u.Scheme] && t.hosts[bare], t.hosts[net.JoinHostPort(host, port)]:
		return nil
	}
	return fmt.Errorf("host %q is not allowed here (probe_hosts)", wire.CleanText(u.Host, 100))
}

// probed is the runner's output.
type probed struct {
	URL    string `json:"url"` // that has answered, after redirects
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"` // of the body, as far as it was read
	Ms     int64  `json:"ms"`    // to the end of it
}

// run implements task.
func (t *probe) run(a *attempt, r *wire.Result) error {
	address, status, err := t.asked(a.offer.Payload)
	if err != nil {
		return failed(causeBadParams, err.Error())
	}
	a.ran = true
	ctx, cancel := context.WithTimeout(a.ctx, min(probeTime, a.runLimit(probeTime)))
	defer cancel()
	got, err := t.ask(ctx, address)
	switch {
	case a.ctx.Err() != nil:
		return errStopped
	case err != nil:
		return failed(causeProbeFailed, err.Error())
	}
	if r.Output, err = json.Marshal(got); err != nil {
		return err
	}
	if status != 0 && got.Status != status || status == 0 && got.Status >= http.StatusBadRequest {
		return failed(causeProbeFailed, fmt.Sprintf("%s answered %d", got.URL, got.Status))
	}
	return nil
}

// ask asks once, and follows redirects as far as they are allowed.
func (t *probe) ask(ctx context.Context, address *url.URL) (probed, error) {
	transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: probeTime}
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, past []*http.Request) error {
		if len(past) > probeRedirects {
			return fmt.Errorf("more than %d redirects", probeRedirects)
		}
		return t.allows(next.URL)
	}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return probed{}, err
	}
	began := time.Now()
	answer, err := client.Do(request)
	if err != nil {
		return probed{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, probeBody))
	if err != nil {
		return probed{}, fmt.Errorf("the body broke off after %d bytes: %w", n, err)
	}
	return probed{answer.Request.URL.Redacted(), answer.StatusCode, n, time.Since(began).Milliseconds()}, nil
}
