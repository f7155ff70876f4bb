package store_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
)

const benchBatch = 512

// BenchmarkCommit writes 512 jobs (insert with assignment, then their ends) and
// beside it a bare probe: insert 512 rows of the same size, update them to done.
// It prints wall and CPU time a job, of this process and of PostgreSQL.
func BenchmarkCommit(b *testing.B) {
	h := newHouse(b, storetest.Slots(64))
	nodes := []storetest.Node{h.node}
	for range 15 {
		nodes = append(nodes, storetest.InsertNode(b, h.db, h.user.ID, storetest.Slots(64)))
	}
	conn, err := pgx.Connect(ctx, h.urls.Admin)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	probe := newProbe(b, conn)
	h.life(nodes)
	probe.life()
	commits := spent{postmaster: postmasterOf(conn)}
	probes := commits
	for b.Loop() {
		commits.add(func() { h.life(nodes) })
		probes.add(probe.life)
	}
	commits.report(b, "commit")
	probes.report(b, "probe")
	b.ReportMetric(probes.wall.Seconds()/commits.wall.Seconds(), "probe/commit")
}

// BenchmarkCommitOne is the other end: one job alone, insert with assignment and
// then its end.
func BenchmarkCommitOne(b *testing.B) {
	h := newHouse(b)
	conn, err := pgx.Connect(ctx, h.urls.Admin)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	jobs := spent{postmaster: postmasterOf(conn)}
	for b.Loop() {
		start, end := &core.Effects{}, &core.Effects{}
		h.finish(end, h.submit(start, 1)...)
		jobs.add(func() {
			h.commit(start)
			h.commit(end)
		})
	}
	jobs.report(b, "job")
}

// life is 512 jobs from insert to end, in two commits.
func (h *house) life(nodes []storetest.Node) {
	start, end := &core.Effects{}, &core.Effects{}
	for i := range benchBatch {
		h.node = nodes[i%len(nodes)]
		jobs := h.submit(start, 1)
		start.Inserts[i].Spec.Params = []fleet.Label{{Name: "threads", Value: "1"}}
		h.finish(end, jobs...)
	}
	h.commit(start)
	h.commit(end)
}

// probe is the least that a durable job can cost in this PostgreSQL.
type probe struct {
	t    testing.TB
	conn *pgx.Conn
	next int64
	body []string
}

func newProbe(t testing.TB, conn *pgx.Conn) *probe {
	_, err := conn.Exec(ctx, "CREATE TABLE probe (id bigint PRIMARY KEY, state text NOT NULL, body text NOT NULL) WITH (fillfactor = 70)")
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{t: t, conn: conn}
	for range benchBatch {
		p.body = append(p.body, strings.Repeat("x", 400))
	}
	return p
}

func (p *probe) life() {
	list := make([]int64, benchBatch)
	for i := range list {
		p.next++
		list[i] = p.next
	}
	_, err := p.conn.Exec(ctx, "INSERT INTO probe SELECT id, 'new', body FROM unnest($1::bigint[], $2::text[]) AS u(id, body)", list, p.body)
	if err == nil {
		_, err = p.conn.Exec(ctx, "UPDATE probe SET state = 'done' FROM unnest($1::bigint[]) AS u(id) WHERE probe.id = u.id", list)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// spent adds up time: wall, this process's CPU and PostgreSQL's.
type spent struct {
	wall, self, postgres time.Duration
	rounds               int
	postmaster           int
}

func (s *spent) add(fn func()) {
	postgres := cpuOf(s.postmaster)
	self, start := cpuSelf(), time.Now()
	fn()
	s.wall += time.Since(start)
	s.self += cpuSelf() - self
	s.postgres += cpuOf(s.postmaster) - postgres
	s.rounds++
}

func (s *spent) report(b *testing.B, name string) {
	jobs := float64(s.rounds * benchBatch)
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / jobs }
	b.ReportMetric(micros(s.wall), name+"-µs/job")
	b.ReportMetric(micros(s.self), name+"-go-cpu-µs/job")
	b.ReportMetric(micros(s.postgres), name+"-pg-cpu-µs/job")
}

func cpuSelf() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf adds up the CPU time of a postmaster and its children, in scheduler ticks
// of 10 ms: exact enough over many rounds.
func cpuOf(postmaster int) (sum time.Duration) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		stat := processStat(d.Name())
		if len(stat) < 15 || d.Name() != strconv.Itoa(postmaster) && stat[1] != strconv.Itoa(postmaster) {
			continue
		}
		for _, ticks := range stat[11:15] { // its own and its ended children's
			n, _ := strconv.ParseInt(ticks, 10, 64)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// processStat is a process's state, parent and so on, without its name.
func processStat(pid string) []string {
	data, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}

// postmasterOf is the parent of the backend that serves conn; 0: it is not on
// this machine.
func postmasterOf(conn *pgx.Conn) int {
	stat := processStat(strconv.Itoa(int(conn.PgConn().PID())))
	if len(stat) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(stat[1])
	return pid
}
