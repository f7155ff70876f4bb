package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
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
				for _, found := range comparisons(t, path, nil) {
					t.Error(found)
				}
			}
		}
	}
	if files < 20 {
		t.Errorf("only %d files were read", files)
	}
}

func TestAttack_A38_TheRuleSeesWhatItForbids(t *testing.T) {
	const planted = `package p
func f() {
	_ = a.Secret == b.Secret
	_ = tokenSum != wanted.Sum
	_ = bytes.Equal(password, given)
	_ = strings.EqualFold(x, credential[4:])
	_ = subtle.ConstantTimeCompare(sum[:], other.Sum[:]) == 1
	_ = digest != announced
	_ = in.Secret == ""
}`
	if found := comparisons(t, "planted.go", planted); len(found) != 4 {
		t.Errorf("found %q", found)
	}
}

// comparisons lists where a file (or the given source) compares secrets.
func comparisons(t *testing.T, path string, src any) (found []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	report := func(n ast.Node, with string) {
		found = append(found, fmt.Sprintf("%s compares secrets with %s: use subtle.ConstantTimeCompare", set.Position(n.Pos()), with))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && isSecret(n.X) && isSecret(n.Y) {
				report(n, n.Op.String())
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Equal", "EqualFold", "Compare"}, f.Sel.Name) && slices.ContainsFunc(n.Args, isSecret) {
				report(n, f.Sel.Name)
			}
		}
		return true
	})
	return found
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
