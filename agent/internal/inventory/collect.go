package inventory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rockpool/shared/wire"
)

// Machine is where an inventory is collected.
type Machine struct {
	Root     string          // of the file system; / but in tests
	Dir      string          // that keeps files of jobs
	Links    []wire.NodeLink // as the owner declares them
	Programs []string        // paths that the runners use
	Isolated []string        // what keeps jobs apart
}

// part fills in one part of an inventory.
type part struct {
	name    string
	collect func(Machine, *wire.Inventory) error
	keep    func(from, to *wire.Inventory)
}

var parts = []part{
	{"platform", platform, func(from, to *wire.Inventory) { to.Platform, to.Archs = from.Platform, from.Archs }},
	{"accelerators", accelerators, func(from, to *wire.Inventory) { to.Accelerators = from.Accelerators }},
	{"memory", memory, func(from, to *wire.Inventory) { to.Memory = from.Memory }},
	{"disk", artifactDisk, func(from, to *wire.Inventory) { to.ArtifactDisk = from.ArtifactDisk }},
}

// Collect gives what the machine has. What can't be read is as before; the error
// names it, and the inventory is stale. It is bounded and fits into a message.
func (m Machine) Collect(before wire.Inventory) (wire.Inventory, error) {
	now := wire.Inventory{Links: first(m.Links, wire.MaxInventory), Commands: m.commands(), Isolation: m.Isolated}
	var failed []error
	for _, p := range parts {
		if err := p.collect(m, &now); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
			p.keep(&before, &now)
		}
	}
	now.Stale = len(failed) > 0
	if err := now.Validate(); err != nil {
		return before, err
	}
	return now, errors.Join(failed...)
}

// commands are the names of the programs that are there.
func (m Machine) commands() []string {
	var names []string
	for _, path := range m.Programs {
		name := filepath.Base(path)
		if info, err := os.Stat(path); err != nil || info.IsDir() || !isWord(name) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return first(slices.Compact(names), wire.MaxInventory)
}

// most bytes of one file are read: those of /proc that are of interest are short.
const most = 1 << 20

// read gives the content of a file of the machine.
func (m Machine) read(path string) (string, error) {
	f, err := os.Open(filepath.Join(m.Root, path))
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(f, most))
	return string(content), errors.Join(err, f.Close())
}

// glob lists files of the machine by pattern, as paths within it.
func (m Machine) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(m.Root, pattern)) // it fails for a bad pattern only
	for i, path := range found {
		found[i] = "/" + strings.TrimPrefix(strings.TrimPrefix(path, filepath.Clean(m.Root)), "/")
	}
	return found
}

// field gives what follows "name:" or "name=" in a text of such lines.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		at := strings.IndexAny(line, ":=")
		if at > 0 && strings.TrimSpace(line[:at]) == name {
			return strings.Trim(strings.TrimSpace(line[at+1:]), `"`)
		}
	}
	return ""
}

// isWord says whether the name may stand in a message.
func isWord(name string) bool {
	bad := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("_.:-", r)
	}
	return name != "" && len(name) <= wire.MaxID && strings.IndexFunc(name, bad) < 0
}

func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }
