package e2e

import (
	"fmt"
	"strings"
	"testing"

	"rockpool/tests/rig"
)

func TestInv_I23_WithoutSynchronousCommitItDoesNotStart(t *testing.T) {
	t.Parallel()
	s := server(t)
	const database = "forgetful"
	execute(t, s, `CREATE DATABASE `+database, `ALTER DATABASE `+database+` SET synchronous_commit = off`)
	url := strings.Replace(s.DatabaseURL(), "dbname=rockpool", "dbname="+database, 1)
	refused := rig.LaunchServer(t, "ROCKPOOL_DATABASE_URL="+url)
	refused.Wait(t, patience)
	refusedInOneLine(t, refused, "synchronous_commit", "database.unsafe")
	if strings.Contains(refused.Output(), "fsync=false") {
		t.Errorf("it blames what is on: %s", refused.Output())
	}
}

func TestInv_I23_WithoutFsyncItDoesNotStart(t *testing.T) {
	t.Parallel()
	url := rig.ThrowAwayDatabase(t) // without fsync: it is for tests
	refused := rig.LaunchServer(t, "ROCKPOOL_DATABASE_URL="+url)
	refused.Wait(t, patience)
	refusedInOneLine(t, refused, "fsync", "database.unsafe")

	told := rig.LaunchServer(t, "ROCKPOOL_DATABASE_URL="+url, "ROCKPOOL_DATABASE_UNSAFE=true")
	told.AwaitReady(t, patience)
	if log := told.Log(); !strings.Contains(log, "fsync=false") || !strings.Contains(log, "level=WARN") {
		t.Errorf("told to, it starts without a warning: %s", fmt.Sprintf("%.2000s", log))
	}
}
