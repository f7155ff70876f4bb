package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"rockpool/backend/internal/rest"
)

// served is the document as a client reads it.
func served(t testing.TB, w *world) *openapi3.T {
	t.Helper()
	rec := w.ask("", http.MethodGet, "/v1/openapi.json", "")
	doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPI_IsValid(t *testing.T) {
	if err := served(t, newWorld(t)).Validate(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestOpenAPI_HasEveryRouteAndNothingElse(t *testing.T) {
	w := newWorld(t)
	doc := served(t, w)
	operations, seen := 0, map[string]bool{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			operations++
			if seen[op.OperationID] {
				t.Errorf("operation id %s stands there twice", op.OperationID)
			}
			seen[op.OperationID] = true
		}
	}
	routes := w.echo.Routes()
	if operations != len(routes) || len(routes) != len(Routes()) {
		t.Errorf("%d operations, %d routes of Echo, %d rows", operations, len(routes), len(Routes()))
	}
	for _, r := range routes {
		item := doc.Paths.Value(pathParam.ReplaceAllString(r.Path, "{$1}"))
		if item == nil || item.GetOperation(r.Method) == nil {
			t.Errorf("%s %s is not in the document", r.Method, r.Path)
		}
	}
}

func TestOpenAPI_EveryParameterIsDescribed(t *testing.T) {
	for _, r := range Routes() {
		for _, name := range r.Query {
			if queryParams[name] == "" {
				t.Errorf("%s %s: %s has no description", r.Method, r.Path, name)
			}
		}
	}
}

// The examples that people copy must be requests that the document knows.
func TestOpenAPI_TakesTheExampleOfAJob(t *testing.T) {
	doc := served(t, newWorld(t))
	var example any
	if err := json.Unmarshal([]byte(exampleJob), &example); err != nil {
		t.Fatal(err)
	}
	if err := doc.Components.Schemas["JobRequest"].Value.VisitJSON(example); err != nil {
		t.Error(err)
	}
	schema, err := json.Marshal(doc.Components.Schemas["Job"])
	if err != nil || !strings.Contains(string(schema), `"reason":{"nullable":true`) {
		t.Errorf("a job's reason may be null: %s, %v", schema, err)
	}
}

func TestOpenAPI_TheProblemIsWhatErrorsAre(t *testing.T) {
	w := newWorld(t)
	var p rest.Problem
	rec := w.asUser(ann, http.MethodGet, "/v1/jobs/nope", "")
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.Type != "urn:rockpool:problem:not_found" || p.Status != 404 || p.Code != "not_found" || p.RequestID == "" ||
		p.RequestID != rec.Header().Get("X-Request-Id") || rec.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%+v, %v", p, rec.Header())
	}
}
