package pgtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rockpool/backend/internal/embedpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestAdminURL_IsOneClusterPerProcess(t *testing.T) {
	t.Setenv(pgtest.EnvAdminURL, "")
	first := pgtest.AdminURL(t)
	if second := pgtest.AdminURL(t); second != first {
		t.Errorf("two clusters: %s and %s", first, second)
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(first, "host="), " ")
	if _, err := os.Stat(filepath.Join(host, ".s.PGSQL.5432")); err != nil {
		t.Errorf("no socket: %v", err)
	}
}

func TestAdminURL_PrefersTheSharedCluster(t *testing.T) {
	t.Setenv(pgtest.EnvAdminURL, "host=/shared")
	if got := pgtest.AdminURL(t); got != "host=/shared" {
		t.Errorf("got %s", got)
	}
}
