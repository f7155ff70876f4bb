package leash

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable makes this program a parent that starts a child and waits.
const parentVariable = "LEASH_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		child := exec.Command("sleep", "600")
		child.Stdout = os.Stdout // whose end says that both are gone
		if err := Start(child, syscall.SIGTERM, func(error) {}); err != nil {
			fmt.Println(err)
		}
		fmt.Println(child.Process.Pid)
		select {}
	}
	os.Exit(m.Run())
}

func TestStart_EndsAChildWithItsParentWhateverItDiesBy(t *testing.T) {
	for _, death := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		parent := exec.Command(os.Args[0])
		parent.Env = append(os.Environ(), parentVariable+"=1")
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(first))
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Process.Signal(death); err != nil {
			t.Fatal(err)
		}
		overdue := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(child, syscall.SIGKILL) })
		_, _ = lines.ReadString('\n') // until the child has let go of it
		if !overdue.Stop() {
			t.Errorf("child %d lived on after its parent had got %v", child, death)
		}
		_ = parent.Wait()
	}
}

func TestStart_TellsTheEndOrWhyThereWasNoBegin(t *testing.T) {
	ended := make(chan error, 1)
	if err := Start(exec.Command("false"), syscall.SIGTERM, func(err error) { ended <- err }); err != nil {
		t.Fatal(err)
	}
	if exit := (*exec.ExitError)(nil); !errors.As(<-ended, &exit) || exit.ExitCode() != 1 {
		t.Errorf("false ended with %v", exit)
	}
	if Start(exec.Command("/no/such/program"), syscall.SIGTERM, func(error) { t.Error("what never began ended") }) == nil {
		t.Error("what is not there was started")
	}
}
