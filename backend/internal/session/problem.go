package session

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/rest"
)

// refuseUpgrade answers an upgrade that is not begun, as problem+json.
func refuseUpgrade(w http.ResponseWriter, r *http.Request, err error) {
	code, detail := fleet.CodeInternal, "the credential could not be checked"
	var limited *limit.Error
	var known *fleet.Error
	switch {
	case errors.As(err, &limited):
		code, detail = fleet.CodeRateLimited, "too many wrong credentials came from this address"
		setRetryAfter(w, limited.RetryAfter)
	case errors.Is(err, context.Canceled): // by Close, or nobody is there to read it
		code, detail = fleet.CodeUnavailable, stopping
		setRetryAfter(w, time.Second)
	case errors.Is(err, context.DeadlineExceeded):
		code, detail = fleet.CodeUnavailable, "the database does not answer; dial again"
		setRetryAfter(w, time.Second)
	case errors.As(err, &known):
		code, detail = known.Code, known.Detail
		if code == fleet.CodeUnavailable {
			setRetryAfter(w, time.Second)
		}
	}
	if code == fleet.CodeUnauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer realm="rockpool"`)
	}
	problem := rest.Problem{
		Type: rest.ProblemURN + string(code), Title: http.StatusText(code.Status()), Status: code.Status(),
		Code: string(code), Detail: detail, RequestID: requestID(w, r),
	}
	w.Header().Set("Content-Type", rest.ProblemType)
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(&problem) // the peer may be gone: nothing to do
}

func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter(wait)))
}

// requestID is the one that the server's middleware gave, as far as there is one.
func requestID(w http.ResponseWriter, r *http.Request) string {
	if id := w.Header().Get(rest.HeaderRequestID); id != "" {
		return id
	}
	return r.Header.Get(rest.HeaderRequestID)
}
