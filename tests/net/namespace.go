package net

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Namespaces of this package are called rockpool-PID-BEGIN-NAME by the process that
// made them, so that runs at one time don't meet and what a killed run left behind
// is known.
const (
	namespaceDir    = "/run/netns"
	namespacePrefix = "rockpool-"
	homeVariable    = "ROCKPOOL_TEST_NETNS" // prefix of this run, once it is at home
)

// home is the prefix of this run's namespaces; empty: it has none.
var home string

// Addresses: of the servers, and of what sites have each.
const (
	serverHost = "10.88.0.1"
	// A bridge without an address of its own takes the lowest of its ports': with each
	// new site it could be another, and who had the old one would talk to nobody.
	hubLink   = "02:88:00:00:00:01"
	firstSite = 10 // of the sites' outer addresses
	firstHost = 11 // of the agents' inner addresses
)

// programs that the rig calls.
var programs = []string{"ip", "nft", "conntrack", "nsenter", "sh"}

// run executes a command; script is its standard input.
func run(script string, command ...string) error {
	c := exec.Command(command[0], command[1:]...)
	c.Stdin = strings.NewReader(script)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s%s", strings.Join(command, " "), err, bytes.TrimSpace(out), script)
	}
	return nil
}

// inside is a command within a namespace. The program takes nsenter's place, so that
// its process id is the one that was started.
func inside(namespace string, command ...string) []string {
	return append([]string{"nsenter", "--net=" + filepath.Join(namespaceDir, namespace)}, command...)
}

// ip runs lines of ip's within a namespace.
func ip(namespace string, lines ...string) error {
	return run(strings.Join(lines, "\n")+"\n", "ip", "-n", namespace, "-batch", "-")
}

// goHome makes the servers' namespace and executes this very program in it, in the
// place of the process: servers and clients of the tests are then simply there. It
// returns only when it could not, with the reason.
func goHome() error {
	begin, err := beginOf(os.Getpid())
	if err != nil {
		return err
	}
	prefix := fmt.Sprintf("%s%d-%s-", namespacePrefix, os.Getpid(), begin)
	home := prefix + "srv"
	if err := run("", "ip", "netns", "add", home); err != nil {
		return err
	}
	err = ip(home, "link set lo up", "link add hub address "+hubLink+" type bridge", "addr add "+serverHost+"/24 dev hub", "link set hub up")
	if err == nil {
		err = os.Setenv(homeVariable, prefix)
	}
	if err == nil {
		err = execute(inside(home, append([]string{os.Args[0]}, os.Args[1:]...)...))
	}
	removeNamespaces(prefix)
	return err
}

func execute(command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, command, os.Environ())
}

// removeLeftovers ends what runs of this package left behind that are gone.
func removeLeftovers() {
	for _, name := range namespaces(namespacePrefix) {
		fields := strings.SplitN(strings.TrimPrefix(name, namespacePrefix), "-", 3)
		if len(fields) != 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			continue
		}
		if begin, err := beginOf(pid); err != nil || begin != fields[1] {
			removeNamespace(name)
		}
	}
}

func removeNamespaces(prefix string) {
	for _, name := range namespaces(prefix) {
		removeNamespace(name)
	}
}

func namespaces(prefix string) (names []string) {
	entries, _ := os.ReadDir(namespaceDir) // none: nobody ever made one
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// removeNamespace kills whatever still runs in it, but for this process, and lets
// it go with its interfaces.
func removeNamespace(name string) {
	out, _ := exec.Command("ip", "netns", "pids", name).Output()
	for _, field := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = run("", "ip", "netns", "del", name)
}

// beginOf is when a process began, in ticks since the machine's start: with it a
// process id means one process for ever.
func beginOf(pid int) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat reads %q", pid, content)
	}
	return fields[19], nil
}
