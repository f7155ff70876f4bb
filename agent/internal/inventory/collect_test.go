//go:build linux

package inventory

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"rockpool/shared/wire"
)

// machine is a file system with the given files.
func machine(t *testing.T, files map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		put(t, root, path, content)
	}
	return Machine{Root: root, Dir: root}
}

func put(t *testing.T, root, path, content string) {
	t.Helper()
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

const (
	meminfo = "MemTotal:       16384512 kB\nMemFree:         1000 kB\n"
	cpuinfo = "processor\t: 0\nflags\t\t: fpu cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe\n"
)

func plain() map[string]string {
	return map[string]string{
		"/proc/sys/kernel/osrelease": "6.1.0-13-amd64\n", "/proc/meminfo": meminfo, "/proc/cpuinfo": cpuinfo,
		"/etc/os-release": "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
	}
}

func TestCollect_ReadsWhatTheMachineHas(t *testing.T) {
	files := plain()
	files["/proc/driver/nvidia/gpus/0000:01:00.0/information"] = "Model: \t\t NVIDIA L4\nDevice Minor: \t 0\n"
	files["/dev/dri/renderD128"], files["/dev/dri/renderD129"], files["/dev/accel/accel0"] = "", "", ""
	files["/sys/class/drm/renderD129/device/mem_info_vram_total"] = "8573157376\n"
	files["/opt/ffmpeg"] = "#!/bin/sh\n"
	m := machine(t, files)
	for node, driver := range map[string]string{"renderD128": "nvidia", "renderD129": "amdgpu"} {
		device := filepath.Join(m.Root, "/sys/class/drm", node, "device")
		if err := os.MkdirAll(device, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../../bus/pci/drivers/"+driver, filepath.Join(device, "driver")); err != nil {
			t.Fatal(err)
		}
	}
	m.Programs = []string{filepath.Join(m.Root, "opt/ffmpeg"), filepath.Join(m.Root, "opt/gone"), filepath.Join(m.Root, "opt/ffmpeg")}
	m.Isolated = []string{"user"}
	m.Links = []wire.NodeLink{{Peer: "n2", Kind: "lan", Bandwidth: 10_000}}
	got, err := m.Collect(wire.Inventory{})
	if err != nil || got.Stale {
		t.Fatalf("stale %v: %v", got.Stale, err)
	}
	want := wire.Inventory{
		Platform: "Debian GNU/Linux 12, Linux 6.1.0-13-amd64", Archs: []string{"amd64", "amd64-v2", "amd64-v3"},
		Accelerators: []wire.Accelerator{
			{Name: "accel0", Kind: "npu"}, {Name: "nvidia0", Kind: "gpu", Model: "NVIDIA L4"}, {Name: "renderD129", Kind: "gpu", Model: "amdgpu"},
		},
		Memory: []wire.MemoryDomain{{Name: "ram", Kind: "ram", Total: 16000}, {Name: "renderD129", Kind: "vram", Total: 8176}},
		Links:  m.Links, ArtifactDisk: got.ArtifactDisk, Commands: []string{"ffmpeg"}, Isolation: []string{"user"},
	}
	if runtime.GOARCH != "amd64" {
		want.Archs = []string{runtime.GOARCH}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if d := got.ArtifactDisk; d.Total <= 0 || d.Free < 0 || d.Free > d.Total || d.Free%max(1, d.Total/32) != 0 {
		t.Errorf("disk %+v", d)
	}
}

// TestCollect_APartThatFailsSaysWhatItSaidBefore: each part in turn.
func TestCollect_APartThatFailsSaysWhatItSaidBefore(t *testing.T) {
	before, err := machine(t, plain()).Collect(wire.Inventory{})
	if err != nil {
		t.Fatal(err)
	}
	before.Accelerators = []wire.Accelerator{{Name: "nvidia0", Kind: "gpu"}}
	for name, spoil := range map[string]func(*Machine){
		"platform":     func(m *Machine) { _ = os.Remove(filepath.Join(m.Root, "/proc/sys/kernel/osrelease")) },
		"memory":       func(m *Machine) { put(t, m.Root, "/proc/meminfo", "MemTotal: much\n") },
		"accelerators": func(m *Machine) { put(t, m.Root, "/proc/driver/nvidia/gpus/1/information", "Model: x\n") },
		"disk":         func(m *Machine) { m.Dir = filepath.Join(m.Root, "gone") },
	} {
		m := machine(t, plain())
		spoil(&m)
		got, err := m.Collect(before)
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !got.Stale {
			t.Errorf("%s: stale %v, %v", name, got.Stale, err)
		}
		if got.Platform != before.Platform || !reflect.DeepEqual(got.Memory, before.Memory) || got.ArtifactDisk.Total != before.ArtifactDisk.Total {
			t.Errorf("%s: got %+v, want what was there before", name, got)
		}
		if kept := reflect.DeepEqual(got.Accelerators, before.Accelerators); kept != (name == "accelerators") {
			t.Errorf("%s: accelerators %+v", name, got.Accelerators)
		}
	}
}

func TestCollect_IsBoundedAndSaysNothingThatTheWireForbids(t *testing.T) {
	m := machine(t, plain())
	for i := range 100 {
		put(t, m.Root, "/dev/accel/accel"+strings.Repeat("x", i), "")
		program := "/opt/tool" + strings.Repeat("y", i)
		put(t, m.Root, program, "")
		m.Programs = append(m.Programs, filepath.Join(m.Root, program))
	}
	put(t, m.Root, "/opt/a b", "")
	m.Programs = append(m.Programs, filepath.Join(m.Root, "/opt/a b"))
	put(t, m.Root, "/etc/os-release", "PRETTY_NAME=\""+strings.Repeat("\x1b[31m", 1000)+"\"\n")
	got, err := m.Collect(wire.Inventory{})
	if err != nil || got.Validate() != nil || len(got.Accelerators) > wire.MaxInventory || len(got.Commands) > wire.MaxInventory || len(got.Commands) < 50 {
		t.Errorf("%d accelerators, %d commands: %v, %v", len(got.Accelerators), len(got.Commands), err, got.Validate())
	}
}

func TestKeeper_TellsChangesOnlyAndGoesOnWithTheNextProcess(t *testing.T) {
	m := machine(t, plain())
	file := filepath.Join(t.TempDir(), "inventory.json")
	log := slog.New(slog.DiscardHandler)
	k := NewKeeper(m, file, log)
	if !k.look() || k.last.Rev != 1 || k.look() {
		t.Fatalf("first look: rev %d; want news once", k.last.Rev)
	}
	put(t, m.Root, "/proc/meminfo", "MemTotal: 1024 kB\n")
	if !k.look() || k.last.Rev != 2 || k.last.Memory[0].Total != 1 {
		t.Fatalf("after a change: %+v", k.last)
	}
	put(t, m.Root, "/proc/meminfo", "")
	next := NewKeeper(m, file, log) // memory can't be read when the next process begins
	if !next.look() || next.last.Rev != 3 || !next.last.Stale || next.last.Memory[0].Total != 1 {
		t.Errorf("the next process tells %+v", next.last)
	}
	if next.look() {
		t.Error("the same failure is news every time")
	}
	put(t, m.Root, "/proc/meminfo", meminfo)
	if !next.look() || next.last.Stale || next.last.Memory[0].Total != 16000 {
		t.Errorf("after the repair: %+v", next.last)
	}
	put(t, filepath.Dir(file), "inventory.json", "{")
	if again := NewKeeper(m, file, log); again.last.Rev != 0 || !again.look() {
		t.Errorf("with a broken file: %+v", again.last)
	}
}
