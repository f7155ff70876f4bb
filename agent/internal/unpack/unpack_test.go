package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// take unpacks into a folder of a new one, in which nothing else may appear.
func take(t testing.TB, archive []byte, l Limits) (dir string, err error) {
	t.Helper()
	above := t.TempDir()
	path := filepath.Join(above, "archive")
	dir = filepath.Join(above, "out")
	if err := errors.Join(os.WriteFile(path, archive, 0o600), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	err = Archive(context.Background(), path, dir, l)
	if entries, readErr := os.ReadDir(above); readErr != nil || len(entries) != 2 {
		t.Errorf("beside the folder there is %v, %v", entries, readErr)
	}
	bytes, entries := measure(t, dir)
	if bytes+entries*block > l.Bytes+1 || entries > l.Entries {
		t.Errorf("%d bytes in %d entries came out, the limits are %+v", bytes, entries, l)
	}
	return dir, err
}

// measure wants plain files and folders.
func measure(t testing.TB, dir string) (bytes, entries int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		entries++
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, entries
}

var wide = Limits{Bytes: 1 << 20, Entries: 100}

func TestArchive_GivesWhatWasPacked(t *testing.T) {
	members := []member{
		{name: "model/", mode: fs.ModeDir | 0o755},
		{name: "model/weights.bin", content: strings.Repeat("w", 70_000)},
		{name: "model/deep/er/names.txt", content: "a\n"},
		{name: "./run.sh", content: "#!/bin/sh\n", mode: 0o755},
		{name: "empty", content: ""},
	}
	inTar := append([]member{{name: "./"}}, members...)
	for name, archive := range map[string][]byte{
		"tar": tarOf(t, inTar...), "tar.gz": gzipOf(t, tarOf(t, inTar...)), "zip": zipOf(t, members...),
		"two gzips": append(gzipOf(t, tarOf(t, inTar...)[:1000]), gzipOf(t, tarOf(t, inTar...)[1000:])...),
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := take(t, archive, wide)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members[1:] {
				path := filepath.Join(dir, filepath.FromSlash(m.name))
				got, err := os.ReadFile(path)
				info, statErr := os.Stat(path)
				if err := errors.Join(err, statErr); err != nil || string(got) != m.content || info.Mode().Perm() != m.mode&0o700|0o600 {
					t.Errorf("%s: %d bytes, %v, %v", m.name, len(got), info, err)
				}
			}
			if _, entries := measure(t, dir); entries != 7 {
				t.Errorf("%d entries", entries)
			}
		})
	}
}

// However a tar is cut, it is not taken for whole: its blocks alone do not tell.
func TestArchive_OneThatIsCutAnywhereIsRefused(t *testing.T) {
	whole := tarOf(t, member{name: "a", content: strings.Repeat("x", 512)}, member{name: "zeros", zeros: 2048}, member{name: "b/"})
	for size := 0; size < len(whole); size += 256 {
		for kind, archive := range map[string][]byte{"tar": whole[:size], "tar.gz": gzipOf(t, whole[:size])} {
			var refused *Refused
			if _, err := take(t, archive, wide); !errors.As(err, &refused) {
				t.Errorf("%s: the first %d bytes of %d: %v", kind, size, len(whole), err)
			}
		}
	}
	packed := gzipOf(t, whole)
	for size := range packed {
		var refused *Refused
		if _, err := take(t, packed[:size], wide); !errors.As(err, &refused) {
			t.Errorf("the first %d bytes of a tar.gz of %d: %v", size, len(packed), err)
		}
	}
}

func TestArchive_BehindTheEndOfATarAreZerosOnly(t *testing.T) {
	whole := tarOf(t, member{name: "a", content: "x"})
	for name, c := range map[string]struct {
		behind []byte
		ok     bool
	}{
		"nothing": {nil, true}, "a record": {make([]byte, 10<<10), true}, "some zeros": {make([]byte, 100), true},
		"text": {[]byte("hello"), false}, "another tar": {whole, false}, "zeros and text": {append(make([]byte, 70_000), 'x'), false},
	} {
		long := append(slices.Clone(whole), c.behind...)
		for kind, archive := range map[string][]byte{"tar": long, "tar.gz": gzipOf(t, long)} {
			var refused *Refused
			if _, err := take(t, archive, wide); (err == nil) != c.ok || err != nil && !errors.As(err, &refused) {
				t.Errorf("%s behind a %s: %v", name, kind, err)
			}
		}
	}
}

// corpus is archives that nobody should have sent, with a word of the refusal.
func corpus(t testing.TB) map[string]struct {
	archive []byte
	say     string
} {
	type bad = struct {
		archive []byte
		say     string
	}
	all := map[string]bad{
		"nothing":                   {nil, "no archive"},
		"text":                      {[]byte("hello"), "no archive"},
		"a gzip of text":            {gzipOf(t, []byte("hello")), "broken"},
		"a cut gzip":                {gzipOf(t, tarOf(t, member{name: "a", content: strings.Repeat("x", 9999)}))[:40], "broken"},
		"a cut tar":                 {tarOf(t, member{name: "a", content: strings.Repeat("x", 9999)})[:5000], "broken"},
		"a cut zip":                 {zipOf(t, member{name: "a", content: "x"})[:30], "broken"},
		"a zip with another sum":    {bytes.Replace(zipOf(t, member{name: "a", content: "x"}), []byte{0x83, 0x16, 0xdc, 0x8c}, []byte{1, 2, 3, 4}, -1), "broken"},
		"a tar bomb":                {bomb(t, 24), "more than"},
		"a zip bomb":                {zipOf(t, member{name: "a", zeros: 3 << 20}), "more than"},
		"a zip that lies of a bomb": {lying(t), "broken"},
		"1e6 entries in a tar":      {many(t, 1000), "entries"},
		"1e6 entries in a zip":      {manyZipped(t, 1e6), "entries"},
		"folders of their own":      {tarOf(t, nested(40, 5)...), "entries"},
		"folders of their own, zip": {zipOf(t, nested(40, 5)...), "entries"},
		"one deep folder at a time": {tarOf(t, member{name: strings.Repeat("d/", 32)}, member{name: strings.Repeat("e/", 32)}, member{name: strings.Repeat("f/", 32)}, member{name: strings.Repeat("g/", 32)}), "entries"},
		"headers without end":       {gzipOf(t, headers(4_000)), "more than"},
		"twice the same":            {zipOf(t, member{name: "a", content: "1"}, member{name: "a", content: "2"}), "there already"},
		"a file as a folder":        {tarOf(t, member{name: "a", content: "1"}, member{name: "a/b", content: "2"}), "there already"},
		"a folder as a file":        {tarOf(t, member{name: "a/"}, member{name: "a", content: "2"}), "there already"},
		"an encrypted zip":          {locked(t), "encrypted"},
		"a link in a zip":           {zipOf(t, member{name: "l", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), "link"},
		"a device in a zip":         {zipOf(t, member{name: "d", mode: fs.ModeDevice | 0o600}), "link"},
		"too deep":                  {tarOf(t, member{name: strings.Repeat("d/", 40) + "x", content: "1"}), "too long"},
		"a long name":               {tarOf(t, member{name: strings.Repeat("d", 2000), content: "1"}), "too long"},
		"a name too long for disks": {tarOf(t, member{name: strings.Repeat("d", 900), content: "1"}), "there already"},
	}
	for _, kind := range []byte{tar.TypeLink, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo, tar.TypeCont} {
		all[fmt.Sprintf("kind %c in a tar", kind)] = bad{tarOf(t, member{name: "l", content: "../../etc/passwd", kind: kind}), "link"}
	}
	for _, name := range []string{
		"../evil", "/etc/evil", "a/../../evil", "./../evil", "..", "a//b", "a/./b", "\\evil", "..\\evil", "a\\..\\..\\evil", "a\nb", "//evil", "a/..", "\xff",
	} {
		all[fmt.Sprintf("the name %q in a tar", name)] = bad{tarOf(t, member{name: name, content: "x"}), "plain name"}
		all[fmt.Sprintf("the name %q in a zip", name)] = bad{zipOf(t, member{name: name, content: "x"}), "plain name"}
		all[fmt.Sprintf("the folder %q in a zip", name)] = bad{zipOf(t, member{name: name + "/"}), "plain name"}
	}
	return all
}

func TestAttack_A53_ArchivesThatNobodyShouldHaveSent(t *testing.T) {
	for name, bad := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			_, err := take(t, bad.archive, wide)
			var refused *Refused
			if !errors.As(err, &refused) || !strings.Contains(refused.Why, bad.say) {
				t.Errorf("%v, want a refusal with %q", err, bad.say)
			}
		})
	}
}

func TestAttack_A53_WhatFitsTheLimitsAndIsABombAllTheSame(t *testing.T) {
	archive := bomb(t, 40)
	_, err := take(t, archive, Limits{Bytes: 1 << 30, Entries: 10})
	if err == nil || !strings.Contains(err.Error(), "bomb") {
		t.Errorf("%d bytes that unpack to 40 MiB: %v", len(archive), err)
	}
}

// Files and folders of no bytes fill a disk too.
func TestAttack_A53_WhatIsEmptyTakesRoomAllTheSame(t *testing.T) {
	folders := make([]member, 20)
	for i := range folders {
		folders[i].name = fmt.Sprint(i, "/")
	}
	for name, members := range map[string][]member{"files": nested(20, 0), "folders": folders, "folders of files": nested(4, 4)} {
		for kind, archive := range map[string][]byte{"tar": tarOf(t, members...), "zip": zipOf(t, members...)} {
			if _, err := take(t, archive, Limits{Bytes: 20 * block, Entries: 20}); err != nil {
				t.Errorf("20 %s in a %s within 20 blocks: %v", name, kind, err)
			}
			_, err := take(t, archive, Limits{Bytes: 20*block - 1, Entries: 20})
			if err == nil || !strings.Contains(err.Error(), "more than 81919 bytes") {
				t.Errorf("20 %s in a %s within a byte less: %v", name, kind, err)
			}
			if _, err := take(t, archive, Limits{Bytes: 1 << 20, Entries: 19}); err == nil || !strings.Contains(err.Error(), "entries") {
				t.Errorf("20 %s in a %s within 19 entries: %v", name, kind, err)
			}
		}
	}
}

// nested is so many empty files, each below so many folders that no other has.
func nested(files, deep int) []member {
	all := make([]member, files)
	for i := range all {
		all[i].name = strings.Repeat(fmt.Sprintf("%d/", i), deep) + fmt.Sprintf("f%d", i)
	}
	return all
}

func TestArchive_EndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, tarOf(t, member{name: "a", content: "x"}), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Archive(ctx, path, t.TempDir(), wide); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// lying says that its file has one byte.
func lying(t testing.TB) []byte {
	archive := zipOf(t, member{name: "a", zeros: 0x123456})
	return bytes.ReplaceAll(archive, []byte{0x56, 0x34, 0x12, 0}, []byte{1, 0, 0, 0})
}

// locked says that its file needs a password.
func locked(t testing.TB) []byte {
	archive := zipOf(t, member{name: "a", content: "x"})
	at := bytes.Index(archive, []byte("PK\x01\x02"))
	archive[at+8] |= encrypted
	return archive
}

// many is a tar.gz of so many thousand folders, in as many parts.
func many(t testing.TB, thousands int) []byte {
	one := tarOf(t, member{name: "same/"})[:512]
	return bytes.Repeat(gzipOf(t, bytes.Repeat(one, 1000)), thousands)
}

// bomb is a tar.gz of so many MiB of nothing.
func bomb(t testing.TB, mib int) []byte {
	head := tarOf(t, member{name: "a"})[:512]
	copy(head[124:136], fmt.Sprintf("%011o\x00", mib<<20))
	seal(head)
	return append(gzipOf(t, head), bytes.Repeat(gzipOf(t, make([]byte, 1<<20)), mib)...)
}

// seal writes a header's sum.
func seal(header []byte) {
	copy(header[148:156], "        ")
	sum := 0
	for _, c := range header[:512] {
		sum += int(c)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// manyZipped has so many entries in its table of contents, and one file.
func manyZipped(t testing.TB, n int) []byte {
	archive := zipOf(t, member{name: "a"})
	at, end := bytes.Index(archive, []byte("PK\x01\x02")), bytes.LastIndex(archive, []byte("PK\x05\x06"))
	all := append(slices.Clone(archive[:at]), bytes.Repeat(archive[at:end], n)...)
	tail := slices.Clone(archive[end:])
	copy(tail[8:], []byte{byte(n), byte(n >> 8), byte(n), byte(n >> 8)})
	size := len(all) - at
	copy(tail[12:], []byte{byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)})
	return append(all, tail...)
}

// headers are global ones, each with a record.
func headers(n int) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax", PAXRecords: map[string]string{"comment": "x"}})
	_ = w.Flush()
	one := slices.Clone(b.Bytes())
	one[156] = tar.TypeXHeader
	seal(one)
	return bytes.Repeat(one, n)
}

// FuzzArchive holds whatever bytes to the promise: plain files below the folder,
// no more than the limits. Its seeds are the small ones of the corpus and of what is
// taken apart.
func FuzzArchive(f *testing.F) {
	f.Fuzz(func(t *testing.T, archive []byte) {
		_, err := take(t, archive, Limits{Bytes: 1 << 16, Entries: 20})
		if refused := (*Refused)(nil); err != nil && !errors.As(err, &refused) {
			t.Errorf("the archive is at fault, and the disk is blamed: %v", err)
		}
	})
}
