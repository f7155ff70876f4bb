package footprint

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestClean_TakesWhatNobodyWroteTo(t *testing.T) {
	const smaps = `00400000-00401000 r-xp 00000000 fe:00 12   /usr/bin/rockpool agent
Rss:                   4 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
00401000-00403000 r--p 00001000 fe:00 12   /usr/bin/rockpool agent
Anonymous:             4 kB
00403000-00404000 rw-p 00003000 fe:00 12   /usr/bin/rockpool agent
Anonymous:             0 kB
00404000-00406000 r--p 00004000 fe:00 12   /usr/bin/rockpool agent
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 13   /usr/lib/libc.so.6
Anonymous:             0 kB
7f0000002000-7f0000003000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []span{{0x400000, 0x401000}, {0x404000, 0x406000}}
	if got := clean(strings.NewReader(smaps), "/usr/bin/rockpool agent"); !slices.Equal(got, want) {
		t.Errorf("%x instead of %x", got, want)
	}
}

func TestShrink_GivesTheProgramsPagesBack(t *testing.T) {
	before := residentFile(t)
	Shrink()
	if after := residentFile(t); after >= before {
		t.Errorf("%d kB of files are resident, before %d", after, before)
	}
}

// residentFile is what is resident of files, in kB.
func residentFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if match == nil {
		t.Skip("this kernel does not tell what is resident of files")
	}
	kb, err := strconv.Atoi(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb
}
