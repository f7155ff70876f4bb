package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// ErrNotRunning says that no agent answers on a state directory.
var ErrNotRunning = errors.New("no agent runs on this state directory")

// AskStatus asks the agent that runs on a state directory. ErrNotRunning: none does.
func AskStatus(ctx context.Context, dir string) (Status, error) {
	var status Status
	err := ask(ctx, dir, http.MethodGet, "/status", &status)
	return status, err
}

// AskLeave has the agent that runs on a state directory leave its fleet, and waits
// until it has: as long as its jobs take. ErrNotRunning: none runs.
func AskLeave(ctx context.Context, dir string, now bool) error {
	return ask(ctx, dir, http.MethodPost, fmt.Sprintf("/leave?now=%v", now), &struct{}{})
}

func ask(ctx context.Context, dir, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket(dir))
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return ErrNotRunning
	case err != nil:
		return fmt.Errorf("ask the agent on %s: %w", dir, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
		return errors.New(strings.TrimSpace(string(text)))
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("ask the agent on %s: %w", dir, err)
	}
	return nil
}
