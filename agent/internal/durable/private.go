package durable

import (
	"fmt"
	"os"
	"runtime"
)

// CheckPrivate refuses a file of a secret that others can read. On Windows the
// rights of the folder count, and nothing is checked.
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o): chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return nil
}
