package view

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
)

// desk is a subscriber that keeps a model of its topics: what a console holds.
type desk struct {
	t       *testing.T
	mu      sync.Mutex
	rev     map[string]int64
	nodes   map[string]wire.NodeRow
	pools   map[string]wire.PoolRow
	fleet   wire.FleetRow
	jobs    map[string]wire.JobRow
	alarms  map[string]wire.AlarmRow
	placed  map[string]wire.PlacementRow
	deltas  []wire.Delta
	at      []time.Time
	encoded []wire.Encoded
	ends    map[string]int // terminal states seen of each job
}

func newDesk(t *testing.T) *desk {
	return &desk{
		t: t, rev: map[string]int64{}, nodes: map[string]wire.NodeRow{}, pools: map[string]wire.PoolRow{}, jobs: map[string]wire.JobRow{},
		alarms: map[string]wire.AlarmRow{}, placed: map[string]wire.PlacementRow{}, ends: map[string]int{},
	}
}

// decode reads one encoded message back.
func decode[T any, P interface {
	*T
	wire.Body
	Validate() error
}](t *testing.T, e wire.Encoded) T {
	t.Helper()
	frame, _ := wire.Join(nil, wire.DefaultLimits(), []wire.Encoded{e})
	messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.Decode[T, P](messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Delta implements Subscriber. A delta whose prev is not held is a fault.
func (d *desk) Delta(topic string, rev int64, e wire.Encoded) {
	delta := decode[wire.Delta](d.t, e)
	d.mu.Lock()
	defer d.mu.Unlock()
	if delta.Topic != topic || delta.Rev != rev || delta.Prev != d.rev[topic] {
		d.t.Errorf("a delta of %s leads from %d to %d (told %d), held is %d", topic, delta.Prev, delta.Rev, rev, d.rev[topic])
	}
	d.rev[topic] = delta.Rev
	d.deltas, d.at, d.encoded = append(d.deltas, delta), append(d.at, time.Now()), append(d.encoded, e)
	d.keep(delta.Fleet, delta.Pools, delta.Nodes, delta.Jobs)
	d.keepAlarms(delta.Alarms)
	d.keepPlacements(delta.Placements)
	for _, id := range delta.Deletes {
		delete(d.nodes, id)
		delete(d.pools, id)
		delete(d.jobs, id)
		delete(d.alarms, id)
		delete(d.placed, id)
	}
}

func (d *desk) keepAlarms(alarms []wire.AlarmRow) {
	for _, r := range alarms {
		d.alarms[r.ID] = r
	}
}

func (d *desk) keep(totals []wire.FleetRow, pools []wire.PoolRow, nodes []wire.NodeRow, jobs []wire.JobRow) {
	for _, r := range totals {
		d.fleet = r
	}
	for _, r := range pools {
		d.pools[r.ID] = r
	}
	for _, r := range nodes {
		d.nodes[r.ID] = r
	}
	for _, r := range jobs {
		if state, _ := fleet.ParseJobState(r.State); state.Terminal() && d.jobs[r.ID].State != r.State {
			d.ends[r.ID]++
		}
		d.jobs[r.ID] = r
	}
}

// subscribe reads the whole snapshot and gives the number of its parts.
func (d *desk) subscribe(v *View, who Viewer, topic string, filter wire.Filter) (*Subscription, int) {
	d.t.Helper()
	sub, snapshot, err := v.Subscribe(context.Background(), &who, topic, filter, d)
	if err != nil {
		d.t.Fatal(err)
	}
	for parts := 1; ; parts++ {
		e, last, err := snapshot.Next()
		if err != nil {
			d.t.Fatal(err)
		}
		part := decode[wire.Snapshot](d.t, e)
		if part.Last != last || part.Part != int64(parts-1) || part.Rev != snapshot.Rev() {
			d.t.Fatalf("part %d: %+v", parts, part)
		}
		d.mu.Lock()
		d.keep(part.Fleet, part.Pools, part.Nodes, part.Jobs)
		d.keepAlarms(part.Alarms)
		d.keepPlacements(part.Placements)
		d.rev[topic] = part.Rev
		d.mu.Unlock()
		if last {
			return sub, parts
		}
	}
}

func (d *desk) alarm(id string) (wire.AlarmRow, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	row, there := d.alarms[id]
	return row, there
}

func (d *desk) seen() []wire.Delta {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.deltas)
}

var (
	everybody = seeing(record.Scope{})
	annID     = int64(7)
	ann       = seeing(record.Scope{Owner: &annID})
)

// seeing is who sees that much of everything.
func seeing(s record.Scope) Viewer {
	return Viewer{Nodes: &s, Pools: &s, Jobs: &s, Alarms: &s, Placements: &s}
}

// bubble runs a test with a view over a stage, in a time of its own.
func bubble(t *testing.T, test func(t *testing.T, stage *viewtest.Stage, v *View)) {
	synctest.Test(t, func(t *testing.T) {
		stage := viewtest.New()
		v := New(Config{Source: stage, Store: stage})
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- v.Run(ctx) }()
		synctest.Wait()
		test(t, stage, v)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
