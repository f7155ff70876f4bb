package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// asText are the types that write themselves as one JSON value.
var asText = map[string]string{
	"Time": "string", "Duration": "string", "Scalar": "string", "Pair": "[string, string]",
}

// documents writes every exported struct of the REST package.
func documents(p *pkg) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, header, "backend/internal/rest")
	for _, name := range p.order {
		if !p.isStruct(name) || asText[name] != "" {
			continue
		}
		if err := p.document(&b, name); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (p *pkg) document(b *strings.Builder, name string) error {
	list, err := p.fields(name, "json")
	if err != nil {
		return err
	}
	b.WriteString("\n")
	p.comment(b, name)
	params, extends := "", ""
	if generic := p.types[name].TypeParams; generic != nil {
		params = "<" + generic.List[0].Names[0].Name + ">"
	}
	for _, f := range list {
		if f.embed != "" {
			extends = " extends " + f.embed
		}
	}
	fmt.Fprintf(b, "export interface %s%s%s {\n", name, params, extends)
	for _, f := range list {
		if f.embed != "" || f.key == "-" {
			continue
		}
		optional := ""
		if f.omit {
			optional = "?"
		}
		fmt.Fprintf(b, "  %s%s: %s;", key(f.key), optional, restType(f.typ, f.omit))
		if f.note != "" {
			fmt.Fprintf(b, " // %s", f.note)
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return nil
}

// restType is a field's type. A pointer that is always written may be null.
func restType(e ast.Expr, omit bool) string {
	switch t := e.(type) {
	case *ast.Ident:
		switch t.Name {
		case "string":
			return "string"
		case "bool":
			return "boolean"
		case "int", "int32", "int64":
			return "number"
		}
		if text := asText[t.Name]; text != "" {
			return text
		}
		return t.Name
	case *ast.StarExpr:
		if omit {
			return restType(t.X, omit)
		}
		return restType(t.X, omit) + " | null"
	case *ast.ArrayType:
		inner := restType(t.Elt, true)
		if strings.ContainsAny(inner, "|") {
			inner = "(" + inner + ")"
		}
		return inner + "[]"
	case *ast.MapType:
		return "Record<string, " + restType(t.Value, true) + ">"
	case *ast.SelectorExpr: // json.RawMessage
		return "unknown"
	}
	return "unknown"
}
