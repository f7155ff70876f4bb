package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// credentials are the API tokens that this user's CLI keeps, each for the one
// server that it is sent to.
type credentials struct {
	Servers map[string]credential `json:"servers"` // by base URL
}

type credential struct {
	User  string `json:"user"` // name
	Token string `json:"token"`
}

// credentialsPath is ROCKPOOL_CREDENTIALS, or the file in the user's
// configuration folder.
func credentialsPath() (string, error) {
	if path := os.Getenv("ROCKPOOL_CREDENTIALS"); path != "" {
		return path, nil
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "rockpool", "credentials"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for credentials, set ROCKPOOL_CREDENTIALS: %w", err)
	}
	return filepath.Join(home, ".config", "rockpool", "credentials"), nil
}

// readCredentials reads the file; without one there are none. It refuses a file
// that others may read.
func readCredentials() (credentials, error) {
	kept := credentials{Servers: map[string]credential{}}
	path, err := credentialsPath()
	if err != nil {
		return kept, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, fmt.Errorf("read the credentials: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return kept, fmt.Errorf("others may read the credentials: chmod 600 %s", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return kept, fmt.Errorf("read the credentials: %w", err)
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return kept, fmt.Errorf("the credentials in %s are damaged: %w", path, err)
	}
	if kept.Servers == nil {
		kept.Servers = map[string]credential{}
	}
	return kept, nil
}

// write replaces the file in one step, readable by its owner only, and returns
// its path.
func (c credentials) write() (string, error) {
	path, err := credentialsPath()
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the credentials: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the credentials: %w", err)
	}
	return path, replaceFile(path, 0o600, func(file *os.File) error {
		_, err := file.Write(append(text, '\n'))
		return err
	})
}

// replaceFile fills a new file beside path and gives it path's name once it is
// complete and on the disk: a failure leaves what was there.
func replaceFile(path string, mode fs.FileMode, fill func(*os.File) error) error {
	beside := filepath.Join(filepath.Dir(path), ".rockpool-"+rand.Text())
	file, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(beside) // a no-op once it is renamed
	defer file.Close()
	if err := fill(file); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
