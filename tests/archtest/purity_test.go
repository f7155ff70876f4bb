package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"testing"

	"golang.org/x/tools/go/packages"
)

// pureTrees decide, or play what decides; a run of events must give the same
// effects everywhere.
var pureTrees = []string{"rockpool/backend/internal/core/...", "rockpool/shared/nodecore/...", "rockpool/backend/internal/sim"}

// TestDecidingCodeIsPure forbids what would make a decision depend on more than
// its arguments: goroutines, channels, and the order of a map's keys.
func TestDecidingCodeIsPure(t *testing.T) {
	mode := packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedFiles | packages.NeedImports | packages.NeedDeps
	seen := 0
	for _, p := range load(t, mode, false, pureTrees...) {
		for _, file := range p.Syntax {
			seen++
			ast.Inspect(file, func(n ast.Node) bool {
				if what := impurity(p.TypesInfo, n); what != "" {
					t.Errorf("%s: %s\n\twhy not: the simulator must get the same effects from the same events", p.Fset.Position(n.Pos()), what)
				}
				return true
			})
		}
	}
	if seen < 5 {
		t.Fatalf("only %d files seen: the rule would hold over nothing", seen)
	}
}

func impurity(info *types.Info, n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectStmt:
		return "selects"
	case *ast.SendStmt:
		return "sends on a channel"
	case *ast.ChanType:
		return "has a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receives from a channel"
		}
	case *ast.RangeStmt:
		if tv, ok := info.Types[n.X]; ok {
			if _, isMap := tv.Type.Underlying().(*types.Map); isMap {
				return "ranges over a map: sort its keys (slices.Sorted(maps.Keys(m))), or keep a slice"
			}
		}
	}
	return ""
}
