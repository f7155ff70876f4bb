package client

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"rockpool/backend/internal/rest"
)

// Problem is the server's own refusal: what errors.As finds when the answer was
// application/problem+json.
type Problem = rest.Problem

// maxProblem bounds a refusal's document; a batch names each of its jobs.
const maxProblem = 4 << 20

// StatusError is an answer that is no document of Rockpool's: a proxy's page,
// another server, or a refused HEAD, which has no body.
type StatusError struct {
	Status    int
	RequestID string // empty: none was given
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
}

// refusal reads an answer that is no success: a *Problem or a *StatusError.
func refusal(resp *http.Response) error {
	bare := &StatusError{Status: resp.StatusCode, RequestID: resp.Header.Get(rest.HeaderRequestID)}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != rest.ProblemType {
		return bare
	}
	var p Problem
	if json.NewDecoder(io.LimitReader(resp.Body, maxProblem)).Decode(&p) != nil || p.Code == "" {
		return bare
	}
	if p.RequestID == "" {
		p.RequestID = bare.RequestID
	}
	return &p
}

// retryAfter is the pause that a 503 asks for, in seconds or until a date;
// negative when it asks for none.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	value := resp.Header.Get("Retry-After")
	if resp.StatusCode != http.StatusServiceUnavailable || value == "" {
		return -1
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return -1
}
