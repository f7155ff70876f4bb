package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"rockpool/backend/internal/store"
)

// probe is the least that any durable request costs: one HTTP request that makes
// one commit, on the PostgreSQL of the server that is measured.
type probe struct {
	db     *store.Probe
	server *http.Server
	url    string
	client *http.Client
	served chan error
}

func startProbe(ctx context.Context, database string) (*probe, error) {
	db, err := store.OpenProbe(ctx, database)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("listen for the probe: %w", err)
	}
	p := &probe{db: db, url: "http://" + listener.Addr().String(), client: &http.Client{Timeout: requestWait}, served: make(chan error, 1)}
	p.server = &http.Server{Handler: http.HandlerFunc(p.commit), ReadHeaderTimeout: requestWait}
	go func() { p.served <- p.server.Serve(listener) }()
	return p, nil
}

// requestWait is how long any one request may take.
const requestWait = 30 * time.Second

// commit reads a document, commits one row, and answers with a document.
func (p *probe) commit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
	if err != nil || !json.Valid(body) {
		http.Error(w, "no document", http.StatusBadRequest)
		return
	}
	if err := p.db.Commit(r.Context(), body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

// request is one measured request.
func (p *probe) request(ctx context.Context, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("ask the probe: %w", err)
	}
	began := time.Now()
	answer, err := p.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the probe: %w", err)
	}
	text, err := io.ReadAll(answer.Body)
	took := time.Since(began)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return 0, fmt.Errorf("ask the probe: %w", err)
	}
	if answer.StatusCode != http.StatusCreated {
		return 0, fmt.Errorf("the probe answers %d: %s", answer.StatusCode, text)
	}
	return took, nil
}

func (p *probe) close() {
	p.client.CloseIdleConnections()
	_ = p.server.Close()
	<-p.served
	p.db.Close()
}
