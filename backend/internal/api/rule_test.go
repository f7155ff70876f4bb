package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rockpool/shared/ids"
)

// secretName is how values are called of which a comparison must tell nothing.
var secretName = regexp.MustCompile(`(?i)(secret|password|credential|token|setup|license|code)?(sum|digest)$|secret|password|credential`)

// TestAttack_A38_SecretsAreLookedUpNotCompared reads the code that handles
// credentials: a secret is turned into its SHA-256 and looked up, and where two
// sums meet, subtle.ConstantTimeCompare compares them.
func TestAttack_A38_SecretsAreLookedUpNotCompared(t *testing.T) {
	files := 0
	for _, dir := range []string{".", "../access", "../enroll"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				files++
				checkComparisons(t, path)
			}
		}
	}
	if files < 20 {
		t.Errorf("only %d files were read", files)
	}
}

func checkComparisons(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && isSecret(n.X) && isSecret(n.Y) {
				t.Errorf("%s compares secrets with %s: use subtle.ConstantTimeCompare", set.Position(n.Pos()), n.Op)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Equal" || f.Sel.Name == "EqualFold" || f.Sel.Name == "Compare") {
				for _, arg := range n.Args {
					if isSecret(arg) {
						t.Errorf("%s compares a secret with %s: use subtle.ConstantTimeCompare", set.Position(n.Pos()), f.Sel.Name)
					}
				}
			}
		}
		return true
	})
}

// isSecret reports a variable or field that is named like a secret or its sum.
// The digest of a file is none: everybody may know it.
func isSecret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return secretName.MatchString(e.Name) && e.Name != "digest"
	case *ast.SelectorExpr:
		return isSecret(e.Sel)
	case *ast.SliceExpr:
		return isSecret(e.X)
	case *ast.IndexExpr:
		return isSecret(e.X)
	}
	return false
}

func TestJobIDs_RiseAlsoWhenTheClockStandsOrGoesBack(t *testing.T) {
	now := worldNow
	made := newJobIDs(func() time.Time { return now })
	var last ids.JobID
	for i := range 20_000 {
		switch i {
		case 5_000:
			now = now.Add(-time.Hour)
		case 15_000:
			now = now.Add(2 * time.Hour)
		}
		id := made.next()
		if id.Compare(last) <= 0 {
			t.Fatalf("%s does not follow %s", id, last)
		}
		if parsed, err := ids.ParseJobID(id.String()); err != nil || parsed != id || id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%s is no UUIDv7: %v", id, err)
		}
		last = id
	}
	ms := int64(last[0])<<40 | int64(last[1])<<32 | int64(last[2])<<24 | int64(last[3])<<16 | int64(last[4])<<8 | int64(last[5])
	if at := time.UnixMilli(ms); at.Sub(now) > time.Second || now.Sub(at) > time.Second {
		t.Errorf("the id says %s, the clock %s", at, now)
	}
}
