package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSim(t *testing.T) {
	dir := t.TempDir()
	file := func(name, expected string) string {
		path := filepath.Join(dir, name)
		text := "title = \"x\"\nduration = \"1m\"\n[[nodes]]\nid = \"n\"\n[[app]]\nid = \"a\"\n[[demand]]\napp = \"a\"\nfrom = \"20s\"\ncount = 1\n" +
			"[[expect]]\ncounter = \"jobs.succeeded\"\nis = " + expected + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, flipped, bad := file("good.toml", "1"), file("flipped.toml", "2"), file("bad.toml", "what")
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"sim", "run", "unbound-app"}, exitOK, []string{"hash", "ok   jobs.succeeded"}},
		{[]string{"sim", "run", good, "--seed", "9"}, exitOK, []string{"seed 9"}},
		{[]string{"sim", "run", good, "--seeds", "3"}, exitOK, []string{"up to seed 2"}},
		{[]string{"sim", "run", flipped, "--seed", "9"}, exitError, []string{"seed 9", "at event", "jobs.succeeded is 1, expected 2"}},
		{[]string{"sim", "run", bad}, exitUsage, []string{"bad"}},
		{[]string{"sim", "run", "no-such"}, exitUsage, []string{"no-such", "sim list"}},
		{[]string{"sim", "run", filepath.Join(dir, "none.toml")}, exitUsage, []string{"none.toml"}},
		{[]string{"sim", "list"}, exitOK, []string{"unbound-app", "WHAT"}},
		{[]string{"sim", "list", "-o", "json"}, exitOK, []string{`"name": "swarm"`}},
		{[]string{"version", "-o", "name"}, exitUsage, []string{"sim list"}},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), c.args, strings.NewReader(""), &out, &errs)
		said := out.String() + errs.String()
		if code != c.code {
			t.Errorf("%v: code %d, want %d: %s", c.args, code, c.code, said)
		}
		for _, s := range c.says {
			if !strings.Contains(said, s) {
				t.Errorf("%v does not say %q: %s", c.args, s, said)
			}
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"sim", "list", "-o", "name"}, strings.NewReader(""), &out, &errs); code != exitOK || !strings.Contains(out.String(), "\nswarm\n") || strings.Contains(out.String(), " ") {
		t.Errorf("names: %q, code %d", out.String(), code)
	}
	out.Reset()
	if code := run(t.Context(), []string{"sim", "run", good, "--report", "json"}, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("code %d: %s", code, errs.String())
	}
	var r struct {
		Hash   string
		Events uint64
		Speed  int64
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Hash) != 16 || r.Events == 0 {
		t.Errorf("report %+v: %v", r, err)
	}
}
