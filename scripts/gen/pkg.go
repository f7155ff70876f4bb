package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// pkg is the exported types of one package, by name and in the order of its files.
type pkg struct {
	order []string
	types map[string]*ast.TypeSpec
	docs  map[string]string
	words map[string][]string // constants of string types, by type
}

// parse reads the package's files, tests aside.
func parse(dir string) (*pkg, error) {
	p := &pkg{types: map[string]*ast.TypeSpec{}, docs: map[string]string{}, words: map[string][]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				p.add(g)
			}
		}
	}
	if len(p.types) == 0 {
		return nil, fmt.Errorf("%s: no types", dir)
	}
	return p, nil
}

func (p *pkg) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				p.order = append(p.order, s.Name.Name)
				p.types[s.Name.Name] = s
				p.docs[s.Name.Name] = strings.TrimSpace(g.Doc.Text())
			}
		case *ast.ValueSpec:
			p.addWord(s)
		}
	}
}

// addWord keeps a constant such as PhaseRunning Phase = "running".
func (p *pkg) addWord(s *ast.ValueSpec) {
	kind, ok := s.Type.(*ast.Ident)
	if !ok || len(s.Values) != 1 {
		return
	}
	if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		p.words[kind.Name] = append(p.words[kind.Name], lit.Value)
	}
}

// field is one field of a struct: the key of its tag and whether it may be absent.
type field struct {
	key   string
	typ   ast.Expr
	omit  bool
	embed string // name of an embedded struct; the other members are empty then
	note  string // the comment behind it
}

// fields lists a struct's fields. A field without a key is an error: on the wire
// nothing travels under its Go name.
func (p *pkg) fields(name, tag string) ([]field, error) {
	s, ok := p.types[name].Type.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s is no struct", name)
	}
	var list []field
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			if embedded, ok := f.Type.(*ast.Ident); ok {
				list = append(list, field{embed: embedded.Name})
			}
			continue
		}
		if f.Tag == nil {
			return nil, fmt.Errorf("%s.%s has no tag %s", name, f.Names[0].Name, tag)
		}
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		key, options, _ := strings.Cut(reflect.StructTag(text).Get(tag), ",")
		if key == "" {
			return nil, fmt.Errorf("%s.%s has no key", name, f.Names[0].Name)
		}
		list = append(list, field{key: key, typ: f.Type, omit: strings.Contains(options, "omitempty"), note: strings.TrimSpace(f.Comment.Text())})
	}
	return list, nil
}

// isStruct says whether the type of that name is a struct of the package.
func (p *pkg) isStruct(name string) bool {
	spec, ok := p.types[name]
	if !ok {
		return false
	}
	_, ok = spec.Type.(*ast.StructType)
	return ok
}

// comment writes a type's documentation above it.
func (p *pkg) comment(b *strings.Builder, name string) {
	if doc := p.docs[name]; doc != "" {
		fmt.Fprintf(b, "/** %s */\n", strings.ReplaceAll(strings.Join(strings.Fields(doc), " "), "*/", "* /"))
	}
}

// key quotes a member's name where TypeScript needs it.
func key(k string) string {
	for _, r := range k {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return strconv.Quote(k)
		}
	}
	return k
}
