package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// What can't be carried out is refused before anything is measured: the folder of
// the programs is empty here.
func TestRun_RefusesBeforeItMeasures(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "SPEED.md")
	const text = "no marks"
	if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--write", document}, {"growth", "--write", document}, {"--write", filepath.Join(folder, "none")},
		{"--write", "../../../docs/SPEED.md", "--quick"}, {"--write", "../../../docs/SPEED.md", "V7"},
		{"growth", "--write", "../../../docs/SPEED.md", "--quick"}, {"growth", "--write", "../../../docs/SPEED.md", "agents"},
		{"V11"}, {"growth", "V1"}, {"guard", "V1"}, {"guard", "--quick"}, {"--record"}, {"--no-such"},
	} {
		verb := 0
		if args[0] == "growth" || args[0] == "guard" {
			verb = 1
		}
		withBin := append(append(append([]string{}, args[:verb]...), "--bin", folder), args[verb:]...)
		if err := run(t.Context(), withBin); exitCode(err) != 64 {
			t.Errorf("%q ended with %v", args, err)
		}
	}
	if content, err := os.ReadFile(document); err != nil || string(content) != text {
		t.Errorf("the document is %q, %v", content, err)
	}
}

// clearingVariable makes this program one that clears up when it is interrupted: it
// makes the file that the variable names.
const clearingVariable = "BENCH_TEST_CLEARS"

func TestMain(m *testing.M) {
	file := os.Getenv(clearingVariable)
	if file == "" {
		os.Exit(m.Run())
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	fmt.Println("runs")
	<-interrupts
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(3)
}

func TestCommand_IsInterruptedAndMayClearUp(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	cleared := filepath.Join(t.TempDir(), "cleared")
	command := (&bench{ctx: ctx}).command(os.Args[0])
	command.Env = append(os.Environ(), clearingVariable+"="+cleared)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := command.Wait(); err == nil || command.ProcessState.ExitCode() != 3 {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(cleared); err != nil {
		t.Error(err)
	}
}

func TestTurns_EndWithAnInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	b := &bench{ctx: ctx}
	working := filepath.Join(t.TempDir(), "working")
	if err := syscall.Mkfifo(working, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := b.contender("one that never ends", nil, "sh", "-c", `echo '{}'; read n; echo > "$0"; read n`, working)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(working) // comes when it has got its work
		interrupt()
	}()
	if _, err := b.inTurns(3, entry{c, 10}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	_ = c.close()
}
