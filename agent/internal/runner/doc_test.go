package runner

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every field of a runner's declaration, and every cause that a result names, has
// its place in the document for owners.
func TestDocument_NamesEveryField(t *testing.T) {
	page, err := os.ReadFile("../../../docs/runners.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range []reflect.Type{reflect.TypeFor[Spec](), reflect.TypeFor[Param](), reflect.TypeFor[Result](), reflect.TypeFor[Success]()} {
		for i := range declaration.NumField() {
			name := declaration.Field(i).Tag.Get("toml")
			if name != "" && !strings.Contains(string(page), "`"+name) && !strings.Contains(string(page), name+" = ") && !strings.Contains(string(page), "{ "+name) {
				t.Errorf("docs/runners.md says nothing of %s.%s", declaration.Name(), name)
			}
		}
	}
	for _, cause := range []string{causeExitCode, causeSignaled, causeRunTimeout, causeStartFailed, causeInputFailed, causeOutputMissing, causeOutputTooLarge, causeNonFinite, causeBadParams, causeLimitPassed, causeProbeFailed, causeDiskFull, causeBadInput} {
		if !strings.Contains(string(page), "`"+cause+"`") {
			t.Errorf("docs/runners.md says nothing of %s", cause)
		}
	}
}
