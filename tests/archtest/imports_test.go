package archtest

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "rockpool/"

// rule forbids packages below From to import what matches Deny, except Allow.
type rule struct {
	from   []string // packages of ours, by prefix; a trailing ! means exactly that one
	except []string // packages below from that the rule leaves alone
	deny   []string // prefixes of import paths; "std" is the whole standard library
	allow  []string // prefixes allowed although denied
	tests  bool     // the rule holds for tests too
	why    string
}

var rules = []rule{
	{
		from: []string{"rockpool/shared"}, deny: []string{"rockpool/agent", "rockpool/backend"}, tests: true,
		why: "shared ships in both binaries: what it imports, both carry",
	},
	{
		from: []string{"rockpool/agent"}, deny: []string{"rockpool/backend"}, tests: true,
		why: "the agent ships to customers: no server or database code in it",
	},
	{
		from: []string{"rockpool/backend"}, deny: []string{"rockpool/agent"}, tests: true,
		why: "server and agent meet on the wire only; an end-to-end test stands in tests/",
	},
	{
		from: []string{"rockpool/backend/internal/core", "rockpool/shared/nodecore", "rockpool/shared/ids"},
		deny: []string{"rockpool/", "std", "github.com/", "golang.org/", "go.uber.org/"},
		allow: []string{
			"rockpool/backend/internal/core", "rockpool/shared/nodecore", "rockpool/shared/ids",
			"bytes", "cmp", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "math", "math/bits",
			"slices", "sort", "strconv", "strings", "unicode", "unicode/utf8", "maps", "iter", "unsafe",
		},
		why: "what decides is pure: no clock, lock, goroutine, randomness, log or I/O, so that the simulator runs the very same code",
	},
	{
		from: []string{"rockpool/backend/internal/sim"}, except: []string{"rockpool/backend/internal/sim/scenario", "rockpool/backend/internal/sim/planted"},
		deny: []string{"rockpool/", "std", "github.com/", "golang.org/", "go.uber.org/"},
		allow: []string{
			"rockpool/backend/internal/core", "rockpool/shared/nodecore", "rockpool/shared/ids",
			"encoding/binary", "errors", "fmt", "io", "math", "math/bits", "math/rand/v2", "slices", "strconv", "strings",
		},
		why: "the simulator has the virtual clock and seeded chance alone, and no decision of its own: the same seed is the same run",
	},
	{
		from:  []string{"rockpool/backend/internal/sim/scenario"},
		deny:  []string{"rockpool/", "time", "math/rand", "os", "net", "sync"},
		allow: []string{"rockpool/backend/internal/sim", "rockpool/backend/internal/core/fleet", "rockpool/shared/ids"},
		why:   "it reads scenario files from the folder that it is given",
	},
	{
		from: []string{"rockpool/shared/nodecore", "rockpool/shared/ids"}, deny: []string{"rockpool/backend"},
		why: "core may import nodecore, never the other way round",
	},
	{
		from: []string{"rockpool/backend/internal/store"}, except: []string{"rockpool/backend/internal/store/storetest"},
		deny: []string{"rockpool/backend/internal/session", "rockpool/backend/internal/api", "rockpool/backend/internal/dispatch"},
		why:  "store, session, api and dispatch meet through small interfaces of the consumer, wired in backend.Run",
	},
	{
		from: []string{"rockpool/backend/internal/session"},
		deny: []string{"rockpool/backend/internal/store", "rockpool/backend/internal/api", "rockpool/backend/internal/dispatch"},
		why:  "store, session, api and dispatch meet through small interfaces of the consumer, wired in backend.Run",
	},
	{
		from: []string{"rockpool/backend/internal/api"},
		deny: []string{"rockpool/backend/internal/store", "rockpool/backend/internal/session", "rockpool/backend/internal/dispatch"},
		why:  "store, session, api and dispatch meet through small interfaces of the consumer, wired in backend.Run",
	},
	{
		from: []string{"rockpool/backend/internal/dispatch"},
		deny: []string{"rockpool/backend/internal/store", "rockpool/backend/internal/session", "rockpool/backend/internal/api", "rockpool/shared/wire"},
		why:  "the loop knows effects and events, neither SQL nor frames",
	},
	{
		from: []string{"rockpool"}, except: []string{"rockpool/backend/internal/store", "rockpool/tests", "rockpool/migrations"},
		deny: []string{"github.com/uptrace/bun", "github.com/jackc/pgx", "database/sql"},
		why:  "SQL stands in the store only",
	},
	{
		from: []string{"rockpool"}, except: []string{"rockpool/backend/internal/access"}, deny: []string{"github.com/casbin"},
		why: "who may do what is asked in one place: access",
	},
	{
		from: []string{"rockpool"}, except: []string{"rockpool/shared/wire"}, deny: []string{"github.com/vmihailenco/msgpack"}, tests: true,
		why: "hostile bytes reach msgpack only behind the pre-scan of shared/wire",
	},
	{
		from: []string{"rockpool"}, except: []string{"rockpool/backend/internal/api", "rockpool/backend/internal/session"}, deny: []string{"github.com/labstack/echo"},
		why: "Echo is the API's business; everything else speaks net/http",
	},
	{
		from: []string{"rockpool"}, except: []string{"rockpool/shared/wsconn", "rockpool/tests"}, deny: []string{"github.com/coder/websocket"},
		why: "limits, pings and close codes of sockets stand in shared/wsconn once for both sides",
	},
	{
		from: []string{"rockpool/backend/internal", "rockpool/agent/internal", "rockpool/shared"}, deny: []string{"rockpool/tests", "testing"},
		except: []string{"rockpool/backend/internal/store/storetest", "rockpool/backend/internal/embedpg/pgtest", "rockpool/shared/wire/wiretest", "rockpool/backend/internal/embedpg/cmd"},
		why:    "production code carries no test helpers",
	},
}

func TestImportLaw(t *testing.T) {
	pkgs := load(t, packages.NeedName|packages.NeedImports|packages.NeedForTest, true)
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages loaded: the rules would hold over nothing", len(pkgs))
	}
	for _, r := range rules {
		for _, p := range pkgs {
			if !r.covers(p) {
				continue
			}
			for path := range p.Imports {
				if r.denies(path) {
					t.Errorf("%s imports %s\n\twhy not: %s", p.ID, path, r.why)
				}
			}
		}
	}
}

func (r rule) covers(p *packages.Package) bool {
	if p.ForTest != "" || strings.HasSuffix(p.ID, ".test") || strings.HasSuffix(p.PkgPath, "_test") {
		if !r.tests {
			return false
		}
	}
	path := strings.TrimSuffix(p.PkgPath, "_test")
	return below(path, r.from) && !below(path, r.except)
}

func (r rule) denies(path string) bool {
	if isStd(path) && slices.Contains(r.allow, path) || !isStd(path) && below(path, r.allow) {
		return false // of the standard library exactly what is named: math is not math/rand
	}
	return below(path, r.deny) || slices.Contains(r.deny, "std") && isStd(path)
}

func below(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		prefix = strings.TrimSuffix(prefix, "/")
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

// isStd reports a standard library path: its first element has no dot and is not ours.
func isStd(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != strings.TrimSuffix(module, "/")
}

func load(t *testing.T, mode packages.LoadMode, tests bool, patterns ...string) []*packages.Package {
	t.Helper()
	if len(patterns) == 0 {
		patterns = []string{module + "..."}
	}
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Tests: tests, Dir: "../.."}, patterns...)
	if err != nil {
		t.Fatalf("load packages: %v", err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("packages have errors: see above")
	}
	return pkgs
}

func TestRulesSeeWhatTheyForbid(t *testing.T) {
	pure := rules[3]
	for path, denied := range map[string]bool{
		"time": true, "sync": true, "math/rand": true, "log/slog": true, "context": true, "rockpool/shared/wire": true,
		"github.com/uptrace/bun": true, "slices": false, "math/bits": false, "rockpool/shared/ids": false, "encoding/json": false,
	} {
		if pure.denies(path) != denied {
			t.Errorf("core importing %s: denied = %v, want %v", path, !denied, denied)
		}
	}
}
