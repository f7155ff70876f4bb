package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"rockpool/shared/wire"
)

// Whatever a job does to its folder, the next one finds its own as the first did.
func TestFolder_NothingOfOneJobReachesTheNext(t *testing.T) {
	spec := sh(`ls -A; ls -A .. | grep -v log; ls -A "$TMPDIR" | grep .; stat -c '%a %u %g %h' . .. "$TMPDIR"; eval "$0"; exit 0`)
	spec.Argv = append(spec.Argv, "{{param.do}}")
	spec.Params = map[string]Param{"do": {Type: "string"}}
	spec.Outputs, spec.Success.Outputs = nil, nil
	for name, do := range map[string]string{
		"nothing":                `:`,
		"a file":                 `echo x > file`,
		"a hidden one":           `echo x > .file`,
		"a temporary one":        `echo x > $TMPDIR/file`,
		"one beside":             `echo x > ../file`,
		"one in the log's place": `rm -f ../log; mkdir ../log`,
		"a folder":               `mkdir folder`,
		"its mode":               `chmod 777 .`,
		"the other mode":         `chmod 777 $TMPDIR`,
		"the mode above":         `chmod 777 ..`,
		"a link":                 `rmdir $TMPDIR; ln -s /tmp $TMPDIR`,
		"another folder":         `rmdir $TMPDIR; mkdir -m 700 $TMPDIR`,
		"a size":                 `for i in $(seq 600); do : > a-rather-long-name-$i; done; rm *`,
		"flags":                  `chattr +d . || exit 7`,
		"attributes":             `setfattr -n user.x -v y . || exit 7`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, spec, nil)
			tell := func(do string) string {
				got := r.run(wire.Payload{Params: []wire.Pair{{Name: "do", Value: do}}})
				if got.Status != wire.ResultSucceeded {
					t.Skip(got.Status, got.Detail, string(got.Head))
				}
				return string(got.Head)
			}
			first := tell(do)
			if second := tell(`:`); second != first {
				t.Errorf("the second job sees\n%s\nthe first saw\n%s", second, first)
			}
		})
	}
}

// A folder is used again only by whom it was looked at: attributes and flags are seen
// wherever the file system has them.
func TestFolder_IsUsedAgainAsItWasMadeAlone(t *testing.T) {
	f := folders{dir: t.TempDir()}
	path := filepath.Join(f.dir, "job")
	again := func() bool {
		t.Helper()
		home, err := f.take(path)
		if err != nil {
			t.Fatal(err)
		}
		inode := home.made[0].inode
		if !home.untouched() || !f.give(home) {
			t.Fatal("what nobody touched is not kept")
		}
		home, err = f.take(path)
		if err != nil || home.made[0].inode != inode {
			t.Fatalf("the folder was not used again: %v", err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(path) })
		return home.untouched()
	}
	if !again() {
		t.Error("it is not as it was made")
	}
	for name, touch := range map[string]func(dir string) error{
		"attribute": func(dir string) error { return unix.Setxattr(dir, "user.x", []byte("y"), 0) },
		"flag": func(dir string) error {
			d, err := os.Open(dir)
			if err != nil {
				return err
			}
			defer func() { _ = d.Close() }()
			return unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, 0x40) // no dump
		},
		"file": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
		"mode": func(dir string) error { return os.Chmod(dir, 0o750) },
	} {
		for _, below := range []string{"", workFolder, tmpFolder} {
			t.Run(fmt.Sprint(name, " ", below), func(t *testing.T) {
				home, err := f.take(filepath.Join(f.dir, "other"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = os.RemoveAll(home.path) }()
				if err := touch(filepath.Join(home.path, below)); err != nil {
					t.Skip(err)
				}
				if home.untouched() {
					t.Error("it was touched, and nobody sees it")
				}
			})
		}
	}
}
