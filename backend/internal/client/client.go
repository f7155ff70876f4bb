// Package client speaks Rockpool's REST API: one method per route, the documents
// of package rest in and out. The CLI, scripts and tests use it. It decides
// nothing; what it adds to net/http is care with secrets, bounded answers and
// bounded retries of requests that may be repeated.
package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Options say which server is meant and who asks.
type Options struct {
	Server         string            // base URL: http://127.0.0.1:8700, https://fleet.example
	Token          string            // API token (rp_…); empty: anonymous
	AllowPlainHTTP bool              // lets secrets go over http to another machine
	Transport      http.RoundTripper // nil: net/http's own with Rockpool's timeouts
	UserAgent      string            // empty: rockpool
}

// Client asks one server. It is safe for concurrent use.
type Client struct {
	http      *http.Client
	server    string
	token     string
	userAgent string
	open      bool // secrets would travel readable, and nobody allowed it
}

// ErrPlainHTTP refuses to send a secret readable over the network.
var ErrPlainHTTP = errors.New("a secret would travel over plain http: use https, or allow it with --allow-plain-http")

// New makes a client; it does not connect. It refuses a server that is no base
// URL, and a token over plain http off this machine (ErrPlainHTTP).
func New(o Options) (*Client, error) {
	base, err := baseURL(o.Server)
	if err != nil {
		return nil, err
	}
	c := &Client{
		server: base.String(), token: o.Token, userAgent: o.UserAgent,
		open: base.Scheme == "http" && !loopback(base.Hostname()) && !o.AllowPlainHTTP,
	}
	if c.userAgent == "" {
		c.userAgent = "rockpool"
	}
	if c.open && c.token != "" {
		return nil, fmt.Errorf("server %s: %w", c.server, ErrPlainHTTP)
	}
	transport := o.Transport
	if transport == nil {
		transport = defaultTransport()
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: neverFollow}
	return c, nil
}

// Server is the base URL in its one spelling, without a slash at its end.
func (c *Client) Server() string { return c.server }

// neverFollow keeps tokens and bodies where they were sent: the API never redirects.
func neverFollow(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func defaultTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 16
	return t
}

func baseURL(server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("server %q: give a base URL such as https://fleet.example", server)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("server %q: no user, query or fragment in a base URL", u.Redacted())
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	return u.Parse(strings.ToLower(u.Scheme+"://"+u.Host) + path)
}

// loopback reports a host that is this machine by its name or address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified()) // 0.0.0.0 dials this machine
}
