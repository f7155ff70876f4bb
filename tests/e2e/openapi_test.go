package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"rockpool/tests/rig"
)

// templated is a parameter in a path of the document.
var templated = regexp.MustCompile(`\{[^}]+\}`)

// document is the OpenAPI document as the server serves it.
func document(t testing.TB, s *rig.Server) *openapi3.T {
	t.Helper()
	a := ask(t, s, "", "GET", "/v1/openapi.json", "")
	if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("answered %d %s", a.Status, a.Header.Get("Content-Type"))
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestOpenAPIDocumentIsServedAndValid(t *testing.T) {
	t.Parallel()
	s := server(t)
	doc := document(t, s)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if path == "/v1/channel" {
				continue // an upgrade, not a request
			}
			// Nobody may call most of them; that they are there is what counts.
			if a := ask(t, s, "", method, templated.ReplaceAllString(path, "x"), ""); a.Status == 404 || a.Status == 405 || a.Status >= 500 {
				t.Errorf("%s %s is described and answers %d", method, path, a.Status)
			}
		}
	}
}

func TestUnknownRoutesAreProblems(t *testing.T) {
	t.Parallel()
	s := server(t)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/v1/", 404, "not_found"}, {"GET", "/v1/nothing", 404, "not_found"}, {"POST", "/v1/jobs/x/nothing", 404, "not_found"},
		{"GET", "/v1/v2/jobs", 404, "not_found"}, {"GET", "/v1//evil.example/%2f..", 404, "not_found"},
		{"DELETE", "/v1/jobs", 405, "method_not_allowed"}, {"PATCH", "/v1/nodes/x", 405, "method_not_allowed"},
	} {
		ask(t, s, s.AdminToken, c.method, c.path, "").refused(t, c.method+" "+c.path, c.status, c.code)
	}
}
