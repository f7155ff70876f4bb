package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"rockpool/shared/wire"
)

func platform(m Machine, to *wire.Inventory) error {
	kernel, err := m.read("/proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	to.Platform = "Linux " + strings.TrimSpace(kernel)
	if release, err := m.read("/etc/os-release"); err == nil && field(release, "PRETTY_NAME") != "" {
		to.Platform = field(release, "PRETTY_NAME") + ", " + to.Platform
	}
	to.Archs = []string{runtime.GOARCH}
	if runtime.GOARCH == "amd64" {
		info, err := m.read("/proc/cpuinfo")
		if err != nil {
			return err
		}
		to.Archs = append(to.Archs, levels(strings.Fields(field(info, "flags")))...)
	}
	return nil
}

// levels are the micro-architecture levels of x86-64 that a processor reaches, by
// the features that each of them adds.
func levels(flags []string) (reached []string) {
	for _, level := range []struct{ name, needs string }{
		{"amd64-v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"},
		{"amd64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe"},
		{"amd64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
	} {
		for _, flag := range strings.Fields(level.needs) {
			if !slices.Contains(flags, flag) {
				return reached
			}
		}
		reached = append(reached, level.name)
	}
	return reached
}

// memory names the machine's own, and what graphics drivers say of theirs.
func memory(m Machine, to *wire.Inventory) error {
	info, err := m.read("/proc/meminfo")
	if err != nil {
		return err
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(field(info, "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return fmt.Errorf("MemTotal of /proc/meminfo: %w", err)
	}
	to.Memory = []wire.MemoryDomain{{Name: "ram", Kind: "ram", Total: kib / 1024}}
	for _, path := range m.glob("/sys/class/drm/renderD*/device/mem_info_vram_total") {
		text, err := m.read(path)
		bytes, bad := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || bad != nil {
			return fmt.Errorf("%s: %w", path, errors.Join(err, bad))
		}
		name := filepath.Base(filepath.Dir(filepath.Dir(path)))
		to.Memory = append(to.Memory, wire.MemoryDomain{Name: name, Kind: "vram", Total: bytes >> 20})
	}
	to.Memory = first(to.Memory, wire.MaxInventory)
	return nil
}

// accelerators are the devices that programs open: those of NVIDIA's driver with
// their models, the render nodes of other graphics drivers, and neural processors.
func accelerators(m Machine, to *wire.Inventory) error {
	var list []wire.Accelerator
	for _, path := range m.glob("/proc/driver/nvidia/gpus/*/information") {
		info, err := m.read(path)
		if err != nil {
			return err
		}
		minor := field(info, "Device Minor")
		if !isWord(minor) {
			return fmt.Errorf("%s names no device", path)
		}
		list = append(list, wire.Accelerator{Name: "nvidia" + minor, Kind: "gpu", Model: field(info, "Model")})
	}
	for _, path := range m.glob("/dev/dri/renderD*") {
		driver, err := m.driver(filepath.Base(path))
		if err != nil {
			return err
		}
		if driver != "nvidia" {
			list = append(list, wire.Accelerator{Name: filepath.Base(path), Kind: "gpu", Model: driver})
		}
	}
	for _, pattern := range []string{"/dev/accel/accel*", "/dev/apex_*"} {
		for _, path := range m.glob(pattern) {
			list = append(list, wire.Accelerator{Name: filepath.Base(path), Kind: "npu"})
		}
	}
	list = slices.DeleteFunc(list, func(a wire.Accelerator) bool { return !isWord(a.Name) })
	slices.SortFunc(list, func(a, b wire.Accelerator) int { return strings.Compare(a.Name, b.Name) })
	list = slices.CompactFunc(list, func(a, b wire.Accelerator) bool { return a.Name == b.Name })
	to.Accelerators = first(list, wire.MaxInventory)
	return nil
}

// driver is the name of a render node's kernel driver; empty: it has none to tell.
func (m Machine) driver(node string) (string, error) {
	target, err := os.Readlink(filepath.Join(m.Root, "/sys/class/drm", node, "device/driver"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return filepath.Base(target), err
}
