package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"time"

	"rockpool/agent/internal/durable"
	"rockpool/shared/wire"
)

// Every is how often the machine is looked at.
const Every = time.Minute

// Keeper looks at the machine now and then, and tells what has changed. What it
// told last stands on the disk: a new process goes on from there.
type Keeper struct {
	machine Machine
	path    string
	log     *slog.Logger
	last    wire.Inventory
}

// NewKeeper makes a keeper with its file at path. A file that can't be read is as
// good as none: it only holds what can be collected anew.
func NewKeeper(machine Machine, path string, log *slog.Logger) *Keeper {
	k := &Keeper{machine: machine, path: path, log: log}
	if err := k.load(); err != nil {
		log.Warn("what this node had before can't be read: it is collected anew", "error", err)
		k.last = wire.Inventory{}
	}
	return k
}

func (k *Keeper) load() error {
	content, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(content, &k.last)
	}
	if err == nil {
		err = k.last.Validate()
	}
	return err
}

// Run tells the inventory at once, and then when it has changed, until ctx ends.
func (k *Keeper) Run(ctx context.Context, tell func(wire.Inventory)) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	k.look()
	tell(k.last)
	for {
		select {
		case <-ticker.C:
			if k.look() {
				tell(k.last)
			}
		case <-ctx.Done():
			return
		}
	}
}

// look collects, and reports whether that gave anything new.
func (k *Keeper) look() bool {
	now, err := k.machine.Collect(k.last)
	now.Rev = k.last.Rev
	if k.last.Rev > 0 && reflect.DeepEqual(now, k.last) {
		return false
	}
	if err != nil {
		k.log.Warn("a part of what this node has can't be read: it says what it said before", "error", err)
	}
	now.Rev++
	k.last = now
	if err := k.store(); err != nil {
		k.log.Warn("what this node has is not stored: a new process begins without it", "error", err)
	}
	return true
}

func (k *Keeper) store() error {
	content, err := json.Marshal(k.last)
	if err != nil {
		return fmt.Errorf("store the inventory: %w", err)
	}
	return durable.WriteFile(k.path, append(content, '\n'))
}
