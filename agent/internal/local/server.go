package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// maxPath is the longest path of a socket that every system takes.
const maxPath = 100

func socket(dir string) string { return filepath.Join(dir, "agent.sock") }

// Node is the agent that answers.
type Node interface {
	// Status of now.
	Status(ctx context.Context) (Status, error)
	// Leave ends the agent with the goodbye of one that does not come back, and
	// returns when that is said. Now: running jobs are ended first.
	Leave(ctx context.Context, now bool) error
}

// Server answers on the socket.
type Server struct {
	http  *http.Server
	ended chan struct{}
}

// Listen opens the socket in a state directory whose lock the caller holds.
func Listen(dir string, node Node) (*Server, error) {
	path := socket(dir)
	if len(path) > maxPath {
		return nil, fmt.Errorf("the path %s is longer than the %d bytes that a socket may have: set state_dir to a shorter one", path, maxPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a life that was killed
		return nil, fmt.Errorf("open the local socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the local socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open the local socket: %w", err), listener.Close())
	}
	s := &Server{http: &http.Server{Handler: handler(node), ReadHeaderTimeout: 5 * time.Second}, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(listener) // it ends by Close
	}()
	return s, nil
}

// Close lets what is being answered be answered, for a moment, and removes the socket.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.ended
}

func handler(node Node) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := node.Status(r.Context())
		answer(w, status, err)
	})
	mux.HandleFunc("POST /leave", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, node.Leave(r.Context(), r.URL.Query().Get("now") == "true"))
	})
	return mux
}

func answer(w http.ResponseWriter, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}
