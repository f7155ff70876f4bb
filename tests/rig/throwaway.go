package rig

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ThrowAwayDatabase is the connection string of an empty database in a cluster
// for tests, which runs without fsync: the one of the whole test run where there
// is one, otherwise one of this test's own.
func ThrowAwayDatabase(t testing.TB) string {
	t.Helper()
	admin := os.Getenv(clusterVariable)
	if admin == "" {
		admin = startCluster(t)
	}
	ctx := context.Background()
	db, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("rig_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := db.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer db.Close(ctx)
		if _, err := db.Exec(ctx, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop the throw-away database: %v", err)
		}
	})
	c := db.Config()
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", c.Host, c.Port, c.User, name)
}

// clusterVariable names the superuser's connection string of a test run's cluster.
const clusterVariable = "ROCKPOOL_TEST_DATABASE_ADMIN_URL"

// startCluster starts PostgreSQL for this test and gives its connection string.
func startCluster(t testing.TB) string {
	t.Helper()
	command := exec.Command(Binary(t, "testcluster"), "--", "sh", "-c", `echo "$`+clusterVariable+`"; exec cat`)
	command.Stderr = os.Stderr
	_, out := Converse(t, command) // cat ends with its input, and the cluster with cat
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("start a throw-away cluster: %v", err)
	}
	return strings.TrimSpace(url)
}

// Converse starts a program that ends with its standard input, which it gives
// with the program's output. The test's end closes the input and waits for it.
func Converse(t testing.TB, command *exec.Cmd) (io.WriteCloser, io.Reader) {
	t.Helper()
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", command.Path, err)
		}
	})
	return in, out
}
