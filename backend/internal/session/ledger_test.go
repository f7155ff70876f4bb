package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
)

// ledger stands for the store: one license, and nodes by the sums of their secrets.
type ledger struct {
	mu       sync.Mutex
	license  enroll.Secret
	nodes    map[enroll.Sum]fleet.NodeRecord
	lookups  int
	registry error         // what a registration answers, if not nil
	stalled  chan struct{} // closed by a look-up that then waits for its context's end, if not nil
}

const licensedSlots = 8 // that the license lets a node bring

var errMissing = fleet.Errorf(fleet.CodeNotFound, "no such row")

func (l *ledger) MembersBySecret(ctx context.Context, secrets []enroll.Sum) (map[enroll.Sum]record.Member, error) {
	if l.stalled != nil {
		close(l.stalled)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[enroll.Sum]record.Member{}
	for _, secret := range secrets {
		l.lookups++
		if node, ok := l.nodes[secret]; ok {
			found[secret] = record.Member{ID: node.ID, Role: node.Role, MaxSlots: licensedSlots}
		}
	}
	return found, nil
}

func (l *ledger) Node(_ context.Context, id string) (record.Node, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, node := range l.nodes {
		if node.ID == id {
			return record.Node{NodeRecord: node}, nil
		}
	}
	return record.Node{}, errMissing
}

func (l *ledger) LicenseBySum(_ context.Context, code enroll.Sum) (record.License, error) {
	if code != l.license.Sum {
		return record.License{}, errMissing
	}
	return record.License{ID: "lic-1", User: 7, Roles: []string{"edge", "worker"}, Nodes: 5, MaxSlots: licensedSlots}, nil
}

func (l *ledger) RegisterNode(_ context.Context, _ record.Actor, license, wish, role string, secret enroll.Sum, _ string) (record.Node, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.registry != nil {
		return record.Node{}, l.registry
	}
	node := fleet.NodeRecord{ID: wish, Owner: 7, Pool: "pool-7", Role: role, License: license}
	l.nodes[secret] = node
	return record.Node{NodeRecord: node}, nil
}

// loop stands for the dispatch loop: it gives epochs, welcomes at once and
// writes down what it was told.
type loop struct {
	hub *Hub

	mu         sync.Mutex
	epoch      int64
	away       error // what a hello answers, if not nil
	committing bool  // welcomes wait
	told       []string
	hellos     []core.HelloEvent
	result     []*fleet.Result
	audits     []core.AuditNote
	put        []fleet.NodeRecord
	change     chan struct{} // closed and replaced at each event
}

func (l *loop) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteLocked(format, args...)
}

func (l *loop) noteLocked(format string, args ...any) {
	l.told = append(l.told, fmt.Sprintf(format, args...))
	close(l.change)
	l.change = make(chan struct{})
}

func (l *loop) PutNode(_ context.Context, node fleet.NodeRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put = append(l.put, node)
	return nil
}

func (l *loop) Hello(_ context.Context, hello core.HelloEvent, enter func(core.Session)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil {
		return l.away
	}
	l.epoch++
	l.hellos = append(l.hellos, hello)
	enter(core.Session{Node: hello.Node, Epoch: l.epoch})
	l.noteLocked("hello %s %d", hello.Node, l.epoch)
	if !l.committing {
		l.welcome(hello.Node, l.epoch)
	}
	return nil
}

func (l *loop) welcome(node string, epoch int64) {
	l.hub.Deliver([]core.Send{{Kind: core.SendWelcome, Node: node, Epoch: epoch, Welcome: &core.Welcome{Pool: "pool-7"}}})
}

func (l *loop) Heartbeat(from core.Session, hb core.HeartbeatEvent) {
	l.note("heartbeat %s %d accepting=%v", from.Node, from.Epoch, hb.Accepting)
}
func (l *loop) Alive(from core.Session) { l.note("alive %s %d", from.Node, from.Epoch) }
func (l *loop) Accept(from core.Session, a core.Attempt) {
	l.note("accept %s %d %s/%d", from.Node, from.Epoch, a.Job, a.Attempt)
}
func (l *loop) Decline(from core.Session, a core.Attempt, reason string) {
	l.note("decline %s %d %s/%d %s", from.Node, from.Epoch, a.Job, a.Attempt, reason)
}
func (l *loop) Progress(from core.Session, a core.Attempt, percent int32) {
	l.note("progress %s %d %s/%d %d", from.Node, from.Epoch, a.Job, a.Attempt, percent)
}
func (l *loop) Result(from core.Session, a core.Attempt, r *fleet.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.result = append(l.result, r)
	l.noteLocked("result %s %d %s/%d", from.Node, from.Epoch, a.Job, a.Attempt)
}
func (l *loop) Inventory(from core.Session, i *fleet.Inventory) {
	l.note("inventory %s %d rev=%d %s disk=%d/%d stale=%v", from.Node, from.Epoch, i.Rev, i.Platform, i.DiskFree, i.DiskTotal, i.Stale)
}
func (l *loop) Goodbye(from core.Session, kind string) {
	l.note("goodbye %s %d %s", from.Node, from.Epoch, kind)
}
func (l *loop) Closed(from core.Session) { l.note("closed %s %d", from.Node, from.Epoch) }
func (l *loop) Audit(note core.AuditNote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.audits = append(l.audits, note)
}

// await waits until the loop was told what.
func (l *loop) await(t *testing.T, what string) {
	t.Helper()
	overdue := time.After(patience)
	for {
		l.mu.Lock()
		told, change := slices.Clone(l.told), l.change
		l.mu.Unlock()
		if slices.Contains(told, what) {
			return
		}
		select {
		case <-change:
		case <-overdue:
			t.Fatalf("the loop was never told %q, but:\n%s", what, strings.Join(told, "\n"))
		}
	}
}

func (l *loop) events() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told)
}

func (l *loop) notes() []core.AuditNote {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.audits)
}
