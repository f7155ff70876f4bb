package load

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
	"rockpool/tests/rig"
)

// soaks reports the long form, scripts/soak storm. It alone holds times against limits:
// a machine that is busy with other tests keeps none. How dials spread is also played
// by the node's own code in shared/nodecore.
func soaks() bool { return os.Getenv("ROCKPOOL_TEST_SOAK") != "" }

// stormNodes is how many nodes come back at once.
func stormNodes() int {
	if soaks() {
		return 10_000
	}
	return 1000
}

// What a storm is measured against.
const (
	stormBatch = 300              // jobs of a request
	stormSlack = 5 * time.Second  // until all are ready, past the window
	stormPeak  = 3                // times the even share, in any second
	stormLimit = 10 * time.Minute // for anything before and behind it, with ten thousand nodes
)

// The server is killed under a fleet that works. All nodes come back by themselves,
// spread out, with all of their work; operators are answered meanwhile.
func TestAttack_A29_AFleetReconnectsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand nodes on real sockets")
	}
	nodes := stormNodes()
	s := rig.NewServer(t)
	owner, client := s.NewUser(t, "storm", "storm")
	pool := "pool-" + owner
	fleet := startFleet(t, backendtest.FleetOrder{
		Server: s.URL, Name: "storm", Licenses: []string{s.NewLicense(t, owner, int64(nodes))}, Nodes: nodes, Slots: 2, Keep: true,
	})
	awaitLeases(t, s, pool, nodes, stormLimit)
	submitMany(t, client, nodes)
	fleet.await(t, "every job runs", func(r backendtest.FleetReport) bool { return r.Started == nodes })
	desk := newDesk(t, s)

	fleet.do(t, backendtest.FleetForgets)
	killed := time.Now()
	s.Kill(t)
	s.Start(t)
	up := time.Now()
	away := up.Sub(killed)
	answers := desk.work(t)
	awaitLeases(t, s, pool, nodes, stormLimit)
	took := time.Since(up)
	fleet.checkSpread(t, nodes, took)
	answers.check(t)
	// Who has dialed in vain waits about as long again: a server that is away for
	// longer than the window is waited for so much longer.
	if most := max(redialWindow, away) + stormSlack; took > most && soaks() {
		t.Errorf("all %d nodes were ready %v after the server, which was away for %v; want %v at most", nodes, took, away, most)
	}

	r := fleet.await(t, "every job ends", func(r backendtest.FleetReport) bool { return r.Running == 0 }, backendtest.FleetEnds)
	if r.Started != nodes || r.Again != 0 || r.Voided != 0 {
		t.Errorf("%d attempts began, %d of them twice, %d were taken away; want %d, 0 and 0", r.Started, r.Again, r.Voided, nodes)
	}
	checkStorm(t, s, nodes)
}

// awaitLeases waits until so many nodes of the pool are ready, as operators see it.
func awaitLeases(t testing.TB, s *rig.Server, pool string, nodes int, limit time.Duration) {
	t.Helper()
	rig.Await(t, limit, func() (bool, string) {
		now, err := s.Admin.Pool(context.Background(), pool)
		return err == nil && now.Leases.Ready == nodes, fmt.Sprintf("%+v %v", now.Leases, err)
	})
}

// submitMany takes a job for each node.
func submitMany(t *testing.T, client *backendtest.Client, jobs int) {
	t.Helper()
	batch := make([]backendtest.JobRequest, 0, stormBatch)
	for left := jobs; left > 0; left -= len(batch) {
		batch = batch[:0]
		for range min(left, stormBatch) {
			batch = append(batch, backendtest.JobRequest{App: "storm", Runner: "noop"})
		}
		if _, err := client.SubmitJobs(t.Context(), batch, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// checkStorm reads the truth: every job ended well in its first attempt, nobody was
// lost, nothing stays reserved.
func checkStorm(t *testing.T, s *rig.Server, nodes int) {
	t.Helper()
	var good, alarms, reserved int
	rig.Await(t, stormLimit, func() (bool, string) {
		db, err := pgx.Connect(t.Context(), s.DatabaseURL())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close(context.Background())
		err = db.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM jobs WHERE state = 'succeeded' AND attempt = 1),
			(SELECT count(*) FROM alarms), (SELECT sum(reserved_slots) FROM nodes)`).Scan(&good, &alarms, &reserved)
		if err != nil {
			t.Fatal(err)
		}
		return good == nodes && reserved == 0, fmt.Sprintf("%d jobs succeeded at the first attempt, want %d; %d slots reserved", good, nodes, reserved)
	})
	if alarms != 0 {
		t.Errorf("%d alarms were raised", alarms)
	}
}

// fleet is a fleet as its test sees it.
type fleet struct{ *backendtest.Fleet }

func startFleet(t testing.TB, order backendtest.FleetOrder) fleet {
	t.Helper()
	f, err := backendtest.StartFleet(rig.Binary(t, "rockpool"), order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return fleet{f}
}

func (f fleet) do(t testing.TB, command string) backendtest.FleetReport {
	t.Helper()
	r, err := f.Do(command)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// await gives commands and then asks until the report is as wanted.
func (f fleet) await(t *testing.T, what string, done func(backendtest.FleetReport) bool, commands ...string) (r backendtest.FleetReport) {
	t.Helper()
	for _, command := range commands {
		f.do(t, command)
	}
	rig.Await(t, stormLimit, func() (bool, string) {
		r = f.do(t, backendtest.FleetReports)
		return done(r), fmt.Sprintf("%s: %d started, %d again, %d voided, %d running", what, r.Started, r.Again, r.Voided, r.Running)
	})
	return r
}

// checkSpread looks at when sessions were opened, one for each node: in the long form no
// second may have more than some times what it would have had if the redial window were
// filled evenly.
func (f fleet) checkSpread(t *testing.T, nodes int, took time.Duration) {
	t.Helper()
	var opened []time.Time
	rig.Await(t, stormLimit, func() (bool, string) { // the server knows a session before its node does
		opened = f.do(t, backendtest.FleetOpened).Opened
		return len(opened) >= nodes, fmt.Sprintf("%d of %d nodes opened a session", len(opened), nodes)
	})
	slices.SortFunc(opened, time.Time.Compare)
	if len(opened) != nodes {
		t.Errorf("%d sessions were opened for %d nodes", len(opened), nodes)
	}
	peak, first := 0, 0
	for i, at := range opened {
		for at.Sub(opened[first]) > time.Second {
			first++
		}
		peak = max(peak, i-first+1)
	}
	even := float64(nodes) / redialWindow.Seconds()
	t.Logf("%d nodes ready %v after the server; sessions opened over %v, %d in the busiest second, %.0f is the even share",
		nodes, took, opened[len(opened)-1].Sub(opened[0]), peak, even)
	if float64(peak) > stormPeak*even && soaks() {
		t.Errorf("%d sessions in one second are more than %d times the even share %.0f", peak, stormPeak, even)
	}
}

// desk is an operator with pages of REST and a console.
type desk struct {
	s      *rig.Server
	cookie string
}

const deskPassword = "correct horse battery staple"

func newDesk(t testing.TB, s *rig.Server) *desk {
	t.Helper()
	_, err := s.Admin.CreateUser(t.Context(), backendtest.UserRequest{Name: "desk", Roles: []string{"operator"}, Password: deskPassword})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/session", strings.NewReader(fmt.Sprintf(`{"name": "desk", "password": %q}`, deskPassword)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", s.URL)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || len(answer.Cookies()) == 0 {
		t.Fatalf("signing in answered %s", answer.Status)
	}
	return &desk{s: s, cookie: answer.Cookies()[0].Name + "=" + answer.Cookies()[0].Value}
}

// deskWork is what the operator did during a storm.
type deskWork struct {
	stop chan struct{}
	done chan struct{}
	rest []time.Duration
	page []time.Duration // from the dial of a console to its snapshot
	errs []error
}

// work reads over REST and opens consoles, one after the other, until it is checked.
func (d *desk) work(t *testing.T) *deskWork {
	w := &deskWork{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for {
			select {
			case <-w.stop:
				return
			default:
			}
			for _, ask := range []func(context.Context) error{d.nodes, d.pools, d.jobs} {
				w.measure(&w.rest, t.Context(), ask)
			}
			w.measure(&w.page, t.Context(), d.console)
		}
	}()
	return w
}

func (w *deskWork) measure(list *[]time.Duration, ctx context.Context, ask func(context.Context) error) {
	began := time.Now()
	if err := ask(ctx); err != nil {
		w.errs = append(w.errs, err)
	}
	*list = append(*list, time.Since(began))
}

func (w *deskWork) check(t *testing.T) {
	t.Helper()
	close(w.stop)
	<-w.done
	t.Logf("operators meanwhile: %d answers by REST, p50 %v, p99 %v; %d consoles, p50 %v, p99 %v", len(w.rest),
		part(w.rest, 50), part(w.rest, 99), len(w.page), part(w.page, 50), part(w.page, 99))
	for _, err := range w.errs {
		t.Errorf("an operator was not answered: %v", err)
	}
}

func part(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	return list[(len(list)-1)*percent/100].Round(100 * time.Microsecond)
}

func (d *desk) nodes(ctx context.Context) error {
	_, err := d.s.Admin.Nodes(ctx, backendtest.NodeFilter{}, backendtest.Page{Limit: 50})
	return err
}

func (d *desk) pools(ctx context.Context) error {
	_, err := d.s.Admin.Pools(ctx, backendtest.Page{})
	return err
}

func (d *desk) jobs(ctx context.Context) error {
	_, err := d.s.Admin.Jobs(ctx, backendtest.JobFilter{}, backendtest.Page{Limit: 50})
	return err
}

// console opens one and waits for the fleet's rows.
func (d *desk) console(ctx context.Context) error {
	conn, err := wsconn.Dial(ctx, d.s.URL+wire.ChannelPath, wsconn.DialOptions{Header: http.Header{"Cookie": {d.cookie}, "Origin": {d.s.URL}}})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if err := conn.Send(wire.Msg(wire.Subscribe{Topic: "fleet"})); err != nil {
		return err
	}
	for {
		frame, err := conn.Receive()
		if err != nil {
			return err
		}
		for _, m := range frame.Messages {
			if m.Type == wire.TypeSnapshot {
				return nil
			}
		}
	}
}
