package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Bounds of a connection. There is no write timeout: answers may wait and
// downloads may be slow; bodies are bounded where they are read.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// NewServer makes the HTTP server for the API (and whatever else the handler
// serves) with its bounds set. The caller listens, and shuts it down.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
