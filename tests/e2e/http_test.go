package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// answer is a response with what it says when it is a refusal.
type answer struct {
	Status  int
	Header  http.Header
	Body    string
	Problem backendtest.Problem
}

// ask sends a request as it stands here; headers are names and values.
func ask(t testing.TB, s *rig.Server, token, method, path, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.URL.Opaque = strings.TrimPrefix(s.URL, "http:") + path // as it stands, not as net/url would write it
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{Status: response.StatusCode, Header: response.Header, Body: string(content)}
	if response.Header.Get("Content-Type") == "application/problem+json" && method != http.MethodHead {
		if err := json.Unmarshal(content, &a.Problem); err != nil {
			t.Fatalf("%s %s answered a problem that can't be read: %v", method, path, err)
		}
	}
	return a
}

// refused fails unless the answer is this problem.
func (a answer) refused(t testing.TB, what string, status int, code string) {
	t.Helper()
	if a.Status != status || a.Problem.Code != code || a.Problem.Status != status || a.Problem.RequestID == "" {
		t.Errorf("%s: answered %d %s, want the problem %d %s", what, a.Status, a.Body, status, code)
	}
}

// read decodes a document.
func (a answer) read(t testing.TB, out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), out); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
}
