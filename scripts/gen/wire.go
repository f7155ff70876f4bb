package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"sort"
	"strings"
)

const header = "// Written by `go run ./scripts/gen` from %s; do not edit.\n"

// ofConsole are the messages that a console sends or gets.
var ofConsole = []string{"Subscribe", "More", "Unsubscribe", "Ping", "Pong", "WelcomeConsole", "Snapshot", "Delta", "Error"}

func consoleMessages(p *pkg) (string, error) { return p.messages(ofConsole) }

// agentMessages are the others: the console never gets one, but its decoder is
// tested with every golden frame.
func agentMessages(p *pkg) (string, error) {
	var names []string
	for name := range p.bodies() {
		names = append(names, name)
	}
	for _, name := range ofConsole {
		for i, n := range names {
			if n == name {
				names = append(names[:i], names[i+1:]...)
				break
			}
		}
	}
	sort.Strings(names)
	return p.messages(names)
}

// bodies gives every message's word by the name of its struct: hello of Hello.
func (p *pkg) bodies() map[string]string {
	all := map[string]string{}
	for _, quoted := range p.words["Type"] {
		word := strings.Trim(quoted, `"`)
		name := ""
		for _, part := range strings.Split(word, "_") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
		all[name] = word
	}
	return all
}

// messages writes the messages, and every struct that they need, each before its user.
func (p *pkg) messages(roots []string) (string, error) {
	var order []string
	seen := map[string]bool{}
	for _, name := range roots {
		if err := p.collect(name, seen, &order); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	for _, name := range order {
		if err := p.message(&b, name); err != nil {
			return "", err
		}
	}
	bodies := p.bodies()
	b.WriteString("\n/** The body of each message, by its type. */\nexport interface Bodies {\n")
	for _, name := range roots {
		fmt.Fprintf(&b, "  %s: %s;\n", bodies[name], name)
	}
	b.WriteString("}\n\n/** What each message's body must look like. */\nexport const shapes: { [T in keyof Bodies]: Shape<Bodies[T]> } = {\n")
	for _, name := range roots {
		fmt.Fprintf(&b, "  %s: %s,\n", bodies[name], lower(name))
	}
	b.WriteString("};\n")
	return fmt.Sprintf(header, "shared/wire") + imports(b.String()) + b.String(), nil
}

// imports names those of the shapes' parts that the text uses.
func imports(text string) string {
	var used []string
	for _, part := range []string{"bin", "bool", "fields", "int", "list", "maybe", "Shape", "str"} {
		if !regexp.MustCompile(`[ (]` + part + `[(,<) ]`).MatchString(text) {
			continue
		}
		if part == "Shape" {
			part = "type Shape"
		}
		used = append(used, part)
	}
	return "import { " + strings.Join(used, ", ") + " } from \"./shape\";\n"
}

func (p *pkg) collect(name string, seen map[string]bool, order *[]string) error {
	if seen[name] {
		return nil
	}
	seen[name] = true
	if !p.isStruct(name) {
		return fmt.Errorf("%s is no struct of the package", name)
	}
	list, err := p.fields(name, "msgpack")
	if err != nil {
		return err
	}
	for _, f := range list {
		if inner := base(f.typ); p.isStruct(inner) {
			if err := p.collect(inner, seen, order); err != nil {
				return err
			}
		}
	}
	*order = append(*order, name)
	return nil
}

// base is the name of the type that a pointer or list holds.
func base(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return base(t.X)
	case *ast.ArrayType:
		return base(t.Elt)
	}
	return ""
}

func (p *pkg) message(b *strings.Builder, name string) error {
	list, err := p.fields(name, "msgpack")
	if err != nil {
		return err
	}
	b.WriteString("\n")
	p.comment(b, name)
	if len(list) == 0 {
		fmt.Fprintf(b, "export type %s = Record<string, never>;\n", name)
	} else {
		fmt.Fprintf(b, "export interface %s {\n", name)
		for _, f := range list {
			fmt.Fprintf(b, "  %s: %s;", key(f.key), p.wireType(f.typ))
			if f.note != "" {
				fmt.Fprintf(b, " // %s", f.note)
			}
			b.WriteString("\n")
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(b, "export const %s: Shape<%s> = fields<%s>({", lower(name), name, name)
	for _, f := range list {
		shape, err := p.shape(f.typ)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(b, "\n  %s: %s,", key(f.key), shape)
	}
	if len(list) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("});\n")
	return nil
}

// wireType is a field's type in TypeScript. The decoder puts an empty list in the
// place of nil, so that only pointers are null.
func (p *pkg) wireType(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		switch {
		case t.Name == "string":
			return "string"
		case t.Name == "int64":
			return "number"
		case t.Name == "bool":
			return "boolean"
		case len(p.words[t.Name]) > 0:
			return strings.Join(p.words[t.Name], " | ")
		}
		return t.Name
	case *ast.StarExpr:
		return p.wireType(t.X) + " | null"
	case *ast.ArrayType:
		if base(t.Elt) == "byte" {
			return "Uint8Array"
		}
		return p.wireType(t.Elt) + "[]"
	}
	return "never"
}

func (p *pkg) shape(e ast.Expr) (string, error) {
	switch t := e.(type) {
	case *ast.Ident:
		switch {
		case t.Name == "int64":
			return "int", nil
		case t.Name == "bool":
			return "bool", nil
		case t.Name == "string":
			return "str", nil
		case len(p.words[t.Name]) > 0:
			return "str as Shape<" + p.wireType(t) + ">", nil
		case p.isStruct(t.Name):
			return lower(t.Name), nil
		}
	case *ast.StarExpr:
		inner, err := p.shape(t.X)
		return "maybe(" + inner + ")", err
	case *ast.ArrayType:
		if base(t.Elt) == "byte" {
			return "bin", nil
		}
		inner, err := p.shape(t.Elt)
		return "list(" + inner + ")", err
	}
	return "", fmt.Errorf("a type that can't stand in a message: %T", e)
}

// lower is the name of a struct's shape.
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] + "Shape" }
