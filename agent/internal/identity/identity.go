package identity

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"rockpool/agent/internal/durable"
)

// Record is what the control plane gave this node.
type Record struct {
	NodeID string `json:"nodeId"`
	Epoch  int64  `json:"epoch"`           // of its newest session
	Chain  string `json:"chain,omitempty"` // what the next hello says
	Left   bool   `json:"left,omitempty"`  // it has said goodbye for good: only a license brings it back
	Given  bool   `json:"given,omitempty"` // an operator made the node, and its secret was given to this machine
}

// Registered reports that there was a welcome: from then on the node shows its
// secret and no license code.
func (r Record) Registered() bool { return (r.NodeID != "" || r.Given) && !r.Left }

// Identity of this node. Safe for concurrent use.
type Identity struct {
	dir    string
	lock   *lock
	bootID string

	mu       sync.Mutex
	record   Record
	secret   Secret // of the file secret
	next     *next  // of the file secret.next; nil: no rotation is under way
	showNext bool
	shown    Secret // at the newest dial
}

// ErrUnfit says that a state directory is none, whenever it is opened: the setting
// is wrong, or what it names.
var ErrUnfit = errors.New("state_dir")

// ErrInUse says that another process holds the state directory.
var ErrInUse = errors.New("state directory is in use by another agent")

// Open takes the state directory: it makes it if it is missing, refuses one that
// others can read, locks it, and loads the identity in it or makes a new one.
// ErrInUse: another process has it. ErrUnfit: nobody may have it.
func Open(dir string) (*Identity, error) {
	if err := ensurePrivate(dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	id := &Identity{dir: dir, lock: lock, bootID: newBootID()}
	if err := id.load(); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return id, nil
}

// makeDir makes the state directory. A full disk is none that is unfit: it has room
// again one day.
func makeDir(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	switch {
	case err == nil:
		return nil
	case durable.IsFull(err):
		return fmt.Errorf("make the state directory: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnfit, err)
}

func (id *Identity) load() error {
	if err := durable.Clean(id.dir); err != nil {
		return err
	}
	content, err := os.ReadFile(id.recordPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the node's registration: %w", err)
	default:
		if err := json.Unmarshal(content, &id.record); err != nil {
			return fmt.Errorf("%w: %s holds no registration: restore it, or remove the state directory to register as a new node: %w", ErrUnfit, id.recordPath(), err)
		}
	}
	if id.secret, err = loadSecret(id.secretPath(), id.record.Registered()); err != nil {
		return err
	}
	return id.loadNext()
}

func (id *Identity) recordPath() string { return filepath.Join(id.dir, "node.json") }

func (id *Identity) secretPath() string { return filepath.Join(id.dir, "secret") }

// Secret that the node shows now.
func (id *Identity) Secret() Secret {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.inUse()
}

// BootID is new with every process.
func (id *Identity) BootID() string { return id.bootID }

// Dir is the state directory.
func (id *Identity) Dir() string { return id.dir }

// Record is what the control plane said last.
func (id *Identity) Record() Record {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.record
}

// Remember stores what a welcome said. One without a chain value leaves what is.
func (id *Identity) Remember(r Record) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if r.Chain == "" {
		r.Chain = id.record.Chain
	}
	return id.store(r)
}

// Leave stores that the node has left its fleet.
func (id *Identity) Leave() error {
	id.mu.Lock()
	defer id.mu.Unlock()
	r := id.record
	r.Left = true
	return id.store(r)
}

// Adopt takes the secret of a node that an operator has made. It replaces the one
// that this machine made for itself, never that of a registered node.
func (id *Identity) Adopt(text string) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	secret, err := parseSecret(text)
	switch {
	case err != nil:
		return fmt.Errorf("the credential %w", err)
	case id.record.Registered() && secret == id.secret:
		return nil
	case id.record.Registered():
		return fmt.Errorf("%s holds the identity of node %s already: remove it, or set state_dir to another directory", id.dir, id.record.NodeID)
	}
	if err := storeSecret(id.secretPath(), secret); err != nil {
		return err
	}
	id.secret = secret
	return id.store(Record{Given: true})
}

func (id *Identity) store(r Record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store the node's registration: %w", err)
	}
	if err := durable.WriteFile(id.recordPath(), append(content, '\n')); err != nil {
		return fmt.Errorf("store the node's registration: %w", err)
	}
	id.record = r
	return nil
}

// Close lets another process use the state directory.
func (id *Identity) Close() error { return id.lock.release() }

func newBootID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails: the runtime ends the process instead
	return hex.EncodeToString(raw[:])
}
