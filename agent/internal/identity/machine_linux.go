package identity

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func marks(stateDir string) []mark {
	return []mark{
		{"machine-id", firstOf("/etc/machine-id", "/var/lib/dbus/machine-id")},
		{"product-uuid", firstOf("/sys/class/dmi/id/product_uuid", "/sys/firmware/devicetree/base/serial-number")},
		{"disk-serial", diskSerial(stateDir)},
	}
}

func firstOf(paths ...string) string {
	for _, path := range paths {
		if content, err := os.ReadFile(path); err == nil && len(content) > 0 {
			return string(content)
		}
	}
	return ""
}

// diskSerial reads the serial number of the disk that holds dir; a partition's
// stands with its disk.
func diskSerial(dir string) string {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return ""
	}
	device, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev)))
	if err != nil {
		return ""
	}
	disk := filepath.Dir(device)
	return firstOf(
		filepath.Join(device, "serial"), filepath.Join(device, "device", "serial"),
		filepath.Join(disk, "serial"), filepath.Join(disk, "device", "serial"),
	)
}
