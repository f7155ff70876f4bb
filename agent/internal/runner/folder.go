package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	maxDepth   = 100  // folders within each other in a job's folder: each costs a descriptor
	namesAtOne = 1024 // read from a folder at a time, however many it holds
	ownersAll  = 0o700
)

// walk goes through what a job wrote. It follows no link, not even one that the job
// puts in a folder's place meanwhile, and opens folders that are closed to their
// owner: a mode must keep nothing from being measured and removed.
type walk struct {
	ctx  context.Context
	file func(fs.FileInfo)       // each entry that is no folder
	deep func(path string) error // a folder below maxDepth; the path is from the walk's top
}

// folder goes through one of the folders of parent, and all below it.
func (w *walk) folder(parent *os.Root, name, path string, depth int) error {
	if depth > maxDepth {
		return w.deep(path)
	}
	dir, err := openFolder(parent, name)
	if err != nil {
		if now, goneErr := parent.Lstat(name); goneErr != nil || !now.IsDir() {
			return nil // it has made way
		}
		return err
	}
	defer func() { _ = dir.Close() }()
	list, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }()
	for {
		names, err := list.Readdirnames(namesAtOne)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.entries(dir, names, path, depth); err != nil {
			return err
		}
	}
}

// entries goes through some of a folder's. What vanishes meanwhile counts nothing.
func (w *walk) entries(dir *os.Root, names []string, path string, depth int) error {
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		info, err := dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && info.IsDir():
			err = w.folder(dir, name, filepath.Join(path, name), depth+1)
		case err == nil:
			w.file(info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openFolder opens a folder, and first opens it to its owner.
func openFolder(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); info.IsDir() && mode&ownersAll != ownersAll {
		if err := parent.Chmod(name, mode|ownersAll); err != nil {
			return nil, err
		}
	}
	return parent.OpenRoot(name)
}

// folderSize adds up the bytes of the files in a folder, as long as they say they
// are. The error says why that can't be told: its ctx has ended, or the job made
// the folder so that it can't be measured.
func folderSize(ctx context.Context, dir string) (size int64, err error) {
	w := walk{
		ctx: ctx,
		file: func(info fs.FileInfo) {
			if info.Mode().IsRegular() {
				size += info.Size()
			}
		},
		deep: func(string) error { return fmt.Errorf("has more than %d folders within each other", maxDepth) },
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return 0, err
	}
	defer func() { _ = parent.Close() }()
	err = w.folder(parent, filepath.Base(dir), ".", 0)
	return size, err
}

// removeFolder removes a job's folder, whatever modes the job gave to what it made,
// and however deep it nested it.
func removeFolder(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	return errors.Join(flatten(dir), os.RemoveAll(dir))
}

// flatten opens all folders to their owner and moves those that lie too deep to the
// top, from where it goes on: no more descriptors are needed for any depth.
func flatten(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	top, err := openFolder(parent, filepath.Base(dir))
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	left := []string{"."}
	w := walk{ctx: context.Background(), file: func(fs.FileInfo) {}}
	w.deep = func(path string) error {
		name := rand.Text()
		left = append(left, name)
		return errors.Join(top.Chmod(path, ownersAll), top.Rename(path, name))
	}
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		if err := w.folder(top, name, name, 0); err != nil {
			return err
		}
	}
	return nil
}
