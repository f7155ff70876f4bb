package runner

import (
	"fmt"
	"slices"
	"strings"
)

// holeKind tells what fills a hole of a template.
type holeKind string

const (
	holeNone    holeKind = ""
	holeIn      holeKind = "in"    // path of an input
	holeOut     holeKind = "out"   // path of an output
	holeParam   holeKind = "param" // value of a parameter
	holeBackend holeKind = "backend"
	holeBin     holeKind = "bin"
)

// piece of an argument: fixed text, or a hole.
type piece struct {
	text string // fixed text
	hole holeKind
	name string // of an input, output or parameter
}

// template is one argument. Whatever fills its holes, it stays one argument.
type template []piece

func (t template) is(hole holeKind) bool { return len(t) == 1 && t[0].hole == hole }

// literal gives the text of an argument without holes.
func (t template) literal() (string, bool) {
	if len(t) == 1 && t[0].hole == holeNone {
		return t[0].text, true
	}
	return "", false
}

func (s *Spec) parseAll(setting string, argv []string) ([]template, error) {
	all := make([]template, len(argv))
	for i, arg := range argv {
		t, err := s.parse(arg)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", setting, i, err)
		}
		all[i] = t
	}
	return all, nil
}

func (s *Spec) parse(arg string) (template, error) {
	if strings.ContainsRune(arg, 0) {
		return nil, fmt.Errorf("holds a NUL byte")
	}
	var t template
	rest := arg
	for {
		before, after, open := strings.Cut(rest, "{{")
		if before != "" || !open && len(t) == 0 {
			t = append(t, piece{text: before})
		}
		if !open {
			return t, nil
		}
		inside, behind, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fmt.Errorf("%q has {{ without }}", arg)
		}
		hole, err := s.parseHole(strings.TrimSpace(inside))
		if err != nil {
			return nil, err
		}
		t = append(t, hole)
		rest = behind
	}
}

func (s *Spec) parseHole(inside string) (piece, error) {
	kind, name, _ := strings.Cut(inside, ".")
	p := piece{hole: holeKind(kind), name: name}
	known := false
	switch p.hole {
	case holeIn:
		known = slices.Contains(s.Inputs, name)
	case holeOut:
		known = slices.Contains(s.files(), name)
	case holeParam:
		_, known = s.Params[name]
	case holeBin:
		if s.Bin == "" && name == "" {
			return p, fmt.Errorf("{{bin}} needs the setting bin")
		}
		known = name == ""
	case holeBackend:
		known = name == ""
	}
	if !known {
		return p, fmt.Errorf("{{%s}} is not declared: known are {{in.NAME}} of inputs, {{out.FILE}} of outputs, {{param.NAME}} of params, {{backend}} and {{bin}}", inside)
	}
	return p, nil
}

// fill makes the argument.
func (t template) fill(value func(piece) string) string {
	var b strings.Builder
	for _, p := range t {
		if p.hole == holeNone {
			b.WriteString(p.text)
		} else {
			b.WriteString(value(p))
		}
	}
	return b.String()
}
