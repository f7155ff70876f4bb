package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// authority signs certificates; nil signs a certificate with its own key.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a company's own"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

// file holds the authority's certificate in PEM form.
func (a *authority) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sign makes a server's certificate.
func (a *authority) sign(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"fleet.test"},
	}
	if change != nil {
		change(template)
	}
	key := newKey(t)
	parent, signer := template, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestAttack_A42_OnlyATrustedServerGetsACredential(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t), newAuthority(t)
	for _, c := range []struct {
		name    string
		cert    tls.Certificate
		trusted *authority
		highest uint16
		line    string // of the log; empty: the session opens
	}{
		{"of the private authority", own.sign(t, nil), own, 0, ""},
		{"of an authority that is not trusted", own.sign(t, nil), other, 0, "unknown authority"},
		{"with the system's roots alone", own.sign(t, nil), nil, 0, "unknown authority"},
		{"signed by itself", (*authority)(nil).sign(t, nil), own, 0, "certificate"},
		{"for another name", own.sign(t, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.test"} }), own, 0, "127.0.0.1"},
		{"expired", own.sign(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), own, 0, "expired"},
		{"not valid yet", own.sign(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), own, 0, "not yet valid"},
		{"for clients only", own.sign(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), own, 0, "usage"},
		{"over TLS 1.1", own.sign(t, nil), own, tls.VersionTLS11, "protocol version"},
		{"over TLS 1.2", own.sign(t, nil), own, tls.VersionTLS12, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			control := newControlOver(t, nil, &tls.Config{Certificates: []tls.Certificate{c.cert}, MinVersion: tls.VersionTLS10, MaxVersion: c.highest})
			cfg := testConfig(t, control.server.URL)
			if c.trusted != nil {
				cfg.CAFile = c.trusted.file(t)
			}
			n := begin(t, cfg)
			if c.line == "" {
				s := control.welcome()
				s.run(offerOf(1, "checksum", wire.Payload{Inputs: []wire.Input{control.put([]byte("over TLS too"))}}))
				if r := expect[wire.Result](s); r.Status != wire.ResultSucceeded {
					t.Errorf("result %+v", r)
				}
				return
			}
			await(t, "the reason", func() bool { return strings.Contains(n.snapshot(), c.line) })
			n.stop()
			if len(control.dials()) != 0 {
				t.Errorf("the server was shown %d credentials", len(control.dials()))
			}
		})
	}
}

// proxy is a real HTTP proxy that tunnels with CONNECT; it finds every name on this
// machine.
type proxy struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // methods and targets
	tunnel sync.WaitGroup
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() { p.Server.Close(); p.tunnel.Wait() })
	return p
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.tunnel.Add(1) // while the server's Close still waits for this request: hijacked, it does not
	defer p.tunnel.Done()
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.mu.Unlock()
	_, port, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil {
		http.Error(w, "CONNECT only", http.StatusBadRequest)
		return
	}
	to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
	for a, b := range map[net.Conn]net.Conn{from: to, to: from} {
		p.tunnel.Go(func() {
			_, _ = io.Copy(a, b) // until either side ends
			_ = a.Close()
			_ = b.Close()
		})
	}
}

func (p *proxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// behindProxy is a control plane that is reached under the name fleet.test only,
// and the settings of an agent for it.
func behindProxy(t *testing.T) (c *control, config string) {
	t.Helper()
	own := newAuthority(t)
	c = newControlOver(t, nil, &tls.Config{Certificates: []tls.Certificate{own.sign(t, nil)}, MinVersion: tls.VersionTLS12})
	u, err := url.Parse(c.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, "https://fleet.test:"+u.Port())
	cfg.CAFile = own.file(t)
	return c, configFile(t, cfg)
}

// withoutProxies are variables that no test's machine may bring along.
var withoutProxies = []string{"HTTP_PROXY=", "http_proxy=", "https_proxy=", "no_proxy=", "NO_PROXY="}

func TestProxy_CarriesTheChannelAndArtifacts(t *testing.T) {
	c, config := behindProxy(t)
	p := newProxy(t)
	c.rotating(func(string) {})
	spawn(t, config, append(slices.Clone(withoutProxies), "HTTPS_PROXY="+p.URL)...)
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	release(t, dir)
	if r := expect[wire.Result](s); r.Status != wire.ResultSucceeded {
		t.Errorf("result %+v", r)
	}
	channel := len(p.seen())
	s.send(wire.Rotate{ID: "rot-1"}) // what the node says over HTTP goes the same way
	if again := c.next(); !strings.HasPrefix(again.shown, "Bearer ") {
		t.Error("the next session does not show the new secret")
	}
	seen := p.seen()
	if channel < 1 || len(seen) < channel+2 {
		t.Errorf("the proxy was asked for %q", seen)
	}
	for _, asked := range seen {
		if !strings.HasPrefix(asked, "CONNECT fleet.test:") {
			t.Errorf("the proxy was asked for %q", asked)
		}
	}
}

func TestProxy_IsNotUsedForWhatIsExcepted(t *testing.T) {
	c, config := behindProxy(t)
	p := newProxy(t)
	log := filepath.Join(t.TempDir(), "log")
	spawn(t, config, append(slices.Clone(withoutProxies), "HTTPS_PROXY="+p.URL, "NO_PROXY=fleet.test", "AGENT_TEST_LOG="+log)...)
	await(t, "a dial to a name that only the proxy knows", func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), "no connection")
	})
	if len(p.seen()) != 0 || len(c.dials()) != 0 {
		t.Errorf("the proxy was asked for %q", p.seen())
	}
}
