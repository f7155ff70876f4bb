package backend

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// gate is the listener's handler from the first moment on: until the server owns
// the shard it answers what is known then, afterwards it passes everything on.
type gate struct {
	open   atomic.Pointer[http.Handler]
	closed atomic.Pointer[fleet.Error]
}

func newGate() *gate {
	g := &gate{}
	g.closed.Store(fleet.Errorf(fleet.CodeUnavailable, "the server is starting"))
	return g
}

func (g *gate) pass(h http.Handler) { g.open.Store(&h) }

// close takes the handler away again and says why.
func (g *gate) close(why *fleet.Error) {
	g.refuse(why)
	g.open.Store(nil)
}

func (g *gate) refuse(why *fleet.Error) { g.closed.Store(why) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// It may have told a length too, which a proxy before us may have believed:
		// what follows is no request of its own.
		w.Header().Set("Connection", "close")
	}
	if h := g.open.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	why := g.closed.Load()
	code, detail := why.Code, why.Detail
	switch r.URL.Path {
	case "/livez":
		answer(w, http.StatusOK, "application/json", rest.Health{Status: "ok"})
	case "/readyz":
		answer(w, code.Status(), "application/json", rest.Health{Status: string(code), Detail: detail})
	default:
		answer(w, code.Status(), rest.ProblemType, rest.Problem{
			Type: rest.ProblemURN + string(code), Title: http.StatusText(code.Status()),
			Status: code.Status(), Code: string(code), Detail: detail, RequestID: r.Header.Get(rest.HeaderRequestID),
		})
	}
}

func answer(w http.ResponseWriter, status int, media string, document any) {
	w.Header().Set("Content-Type", media)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // the peer may be gone: nothing to do
}

// listen binds the address before anything else is started, so that a port in
// use costs nothing and is told in one line.
func listen(setting, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is in use; stop what listens there or choose another address", setting, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return l, nil
}

// bodyTimeout bounds the reading of a request's body, from its head on.
const bodyTimeout = 30 * time.Second

// within bounds the reading of every request's body, whoever answers it. What stays
// unread is read by net/http before the answer goes out: without a bound, somebody
// who sends half a body keeps the connection for ever, signed in or not. A handler
// that has read all lifts the bound; a connection that is taken over has none.
func within(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit)) // a real connection has one
		}
		next.ServeHTTP(w, r)
	})
}

// newHTTPServer bounds what a slow or hostile client can hold. There is no write
// timeout: long polls and downloads have limits of their own. HTTP/1.1 only: a
// WebSocket needs it.
func newHTTPServer(handler http.Handler, body time.Duration, log *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           within(body, handler),
		Protocols:         protocols,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveHTTP serves until ctx ends, then lets running requests finish for a while.
func serveHTTP(ctx context.Context, server *http.Server, l net.Listener, cert, key string) error {
	failed := make(chan error, 1)
	go func() {
		if cert != "" {
			server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
			failed <- server.ServeTLS(l, cert, key)
			return
		}
		failed <- server.Serve(l)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(stopCtx); err != nil {
		_ = server.Close() // what did not finish in time is cut
	}
	<-failed
	return nil
}
