// Package durable writes files that are whole or not there, whenever the process
// or the machine dies.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// temporary marks files that were being written.
const temporary = ".part-"

// WriteFile puts data at path, readable by the owner only: it writes a temporary
// file, syncs it, renames it and syncs the folder. When it returns nil the data
// survives kill -9 and a power cut.
func WriteFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, temporary)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := fill(f, data); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return SyncDir(dir)
}

func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Clean removes what a process that died was writing into dir.
func Clean(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporary) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove what was left half written: %w", err)
			}
		}
	}
	return nil
}
