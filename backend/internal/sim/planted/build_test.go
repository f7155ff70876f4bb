package planted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planted names the bug that the program has, in its environment.
const planted = "ROCKPOOL_PLANTED_BUG"

// build makes one program with all the bugs in it: beside each function that one
// changes stands the changed one, and takes its place when its bug is asked for.
func build(t *testing.T) (binary string) {
	t.Helper()
	dir := t.TempDir()
	binary = filepath.Join(dir, "play")
	overlay := map[string]string{}
	for i, file := range files() {
		original, err := filepath.Abs(core + file)
		if err != nil {
			t.Fatal(err)
		}
		overlay[original] = keep(t, dir, fmt.Sprintf("%d.go", i), plant(t, file))
		folder := filepath.Dir(original)
		ask := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar plantedBug = os.Getenv(%q)\n", filepath.Base(folder), planted)
		overlay[filepath.Join(folder, "planted.go")] = keep(t, dir, filepath.Base(folder)+".go", []byte(ask))
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-overlay", keep(t, dir, "overlay.json", content), "-o", binary, "./play"}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("build with the bugs: %v\n%s", err, out)
	}
	return binary
}

// files lists the source files that bugs change.
func files() (list []string) {
	for _, b := range bugs {
		if !slices.Contains(list, b.file) {
			list = append(list, b.file)
		}
	}
	return list
}

func keep(t *testing.T, dir, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plant gives a file's source with its bugs.
func plant(t *testing.T, file string) []byte {
	t.Helper()
	source, err := os.ReadFile(core + file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	offset := func(p token.Pos) int { return int(p - tree.FileStart) }
	functions := slices.DeleteFunc(tree.Decls, func(d ast.Decl) bool { _, is := d.(*ast.FuncDecl); return !is })
	slices.Reverse(functions) // what is inserted moves nothing that is still to be looked at
	changed, copies := slices.Clone(source), []byte(nil)
	for _, decl := range functions {
		f := decl.(*ast.FuncDecl)
		from, to := offset(f.Pos()), offset(f.End())
		for i, b := range bugs {
			if at := bytes.Index(source, []byte(b.find)); b.file != file || at < from || at >= to {
				continue
			}
			if n := bytes.Count(source, []byte(b.find)); n != 1 {
				t.Fatalf("%q stands %d times in %s, it must once", b.find, n, file)
			}
			name := fmt.Sprintf("%sPlanted%d", f.Name.Name, i)
			twin := strings.Replace(string(source[from:to]), b.find, b.put, 1)
			head := offset(f.Name.Pos()) - from
			copies = append(copies, "\n"+twin[:head]+name+twin[head+len(f.Name.Name):]+"\n"...)
			changed = slices.Insert(changed, offset(f.Body.Lbrace)+1, []byte(detour(f, name, b.name))...)
		}
	}
	for i, b := range bugs {
		if b.file == file && !bytes.Contains(copies, []byte(fmt.Sprintf("Planted%d(", i))) {
			t.Fatalf("%q stands in no function of %s", b.find, file)
		}
	}
	return append(changed, copies...)
}

// detour is the statement that leads from a function to its changed twin.
func detour(f *ast.FuncDecl, name, bug string) string {
	if f.Recv != nil {
		name = f.Recv.List[0].Names[0].Name + "." + name
	}
	var args []string
	for _, field := range f.Type.Params.List {
		for _, n := range field.Names {
			args = append(args, n.Name)
		}
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	if f.Type.Results == nil {
		return fmt.Sprintf("\nif plantedBug == %q { %s; return }\n", bug, call)
	}
	return fmt.Sprintf("\nif plantedBug == %q { return %s }\n", bug, call)
}
