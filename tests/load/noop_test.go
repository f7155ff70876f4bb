package load

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

func TestMain(m *testing.M) {
	if os.Getenv(plainVariable) != "" {
		fmt.Fprintln(os.Stderr, servePlain())
		os.Exit(1)
	}
	os.Exit(rig.Main(m))
}

// metricsAt lets a profile be taken from the server while it is measured.
var metricsAt = flag.String("metrics", "", "loopback address for the server's metrics and profiles")

const (
	noopAgents = 10
	noopSlots  = 64
	noopBatch  = 300
	noopJobs   = 51_000
	noopRounds = 5
	submitters = 2
)

// BenchmarkNoopJobs takes 50,000 jobs of the bench agents' own runner through
// their whole life, in batches over REST, and the bare insert-and-update probe
// through as many, in turns on the same PostgreSQL. What counts is the CPU time:
// the server's and PostgreSQL's for the jobs, the probe's and PostgreSQL's for
// the probe. Run it with -benchtime=1x.
func BenchmarkNoopJobs(b *testing.B) {
	ctx := context.Background()
	s := rig.NewServer(b, "ROCKPOOL_METRICS_LISTEN="+*metricsAt)
	user, client := s.NewUser(b, "load", "load")
	startAgents(b, s, user)
	bare, err := newProbe(ctx, s.DatabaseURL(), 512)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := bare.close(ctx); err != nil {
			b.Error(err)
		}
	}()
	runJobs(b, ctx, client, 10_200) // warm
	b.ResetTimer()
	for range b.N {
		var product, probe cpu
		var took time.Duration
		for range noopRounds {
			began := time.Now()
			product.add(spent(b, s, func() { runJobs(b, ctx, client, noopJobs/noopRounds) }))
			took += time.Since(began)
			runtime.GC() // what the jobs' clients left behind is not the probe's
			probe.add(spent(b, s, func() {
				if err := bare.run(ctx, noopJobs/noopRounds); err != nil {
					b.Fatal(err)
				}
			}))
		}
		perJob := func(d time.Duration) float64 { return float64(d.Microseconds()) / noopJobs }
		b.ReportMetric(perJob(product.server), "server-µs/job")
		b.ReportMetric(perJob(product.postgres), "postgres-µs/job")
		b.ReportMetric(perJob(probe.own+probe.postgres), "probe-µs/job")
		b.ReportMetric(float64(product.server+product.postgres)/float64(probe.own+probe.postgres), "ratio")
		b.ReportMetric(noopJobs/took.Seconds(), "jobs/s")
		b.ReportMetric(0, "ns/op")
	}
	checkNothingHeld(b, ctx, s)
}

func startAgents(b *testing.B, s *rig.Server, user string) {
	license := s.NewLicense(b, user, noopAgents)
	for i := range noopAgents {
		rig.JoinRawNode(b, s, rig.RawOptions{
			Name: fmt.Sprintf("load-%d", i), License: license, Slots: noopSlots, Answer: rig.Diligent,
		})
	}
}

// runJobs submits jobs in batches from several clients and waits for the last.
func runJobs(b *testing.B, ctx context.Context, client *backendtest.Client, jobs int) {
	b.Helper()
	batch := make([]backendtest.JobRequest, noopBatch)
	for i := range batch {
		batch[i] = backendtest.JobRequest{App: "load", Runner: "noop"}
	}
	var group sync.WaitGroup
	for range submitters {
		group.Go(func() {
			for range jobs / submitters / noopBatch {
				answer, err := client.SubmitJobs(ctx, batch, "")
				if err != nil {
					b.Error(err)
					return
				}
				last := answer.Items[len(answer.Items)-1].Job.ID
				if job, err := client.WaitJob(ctx, last, time.Minute); err != nil || job.State != "succeeded" {
					b.Errorf("job %s: %+v, %v", last, job, err)
					return
				}
			}
		})
	}
	group.Wait()
	rig.Await(b, time.Minute, func() (bool, string) {
		open, err := client.Jobs(ctx, backendtest.JobFilter{State: "queued"}, backendtest.Page{Limit: 1})
		return err == nil && len(open.Items) == 0, fmt.Sprintf("%+v %v", open.Items, err)
	})
}

// cpu is what the parts have spent: the server, its PostgreSQL, this process.
type cpu struct{ server, postgres, own time.Duration }

func (c *cpu) add(more cpu) {
	c.server += more.server
	c.postgres += more.postgres
	c.own += more.own
}

// spent measures the CPU time of a piece of work.
func spent(b *testing.B, s *rig.Server, work func()) cpu {
	b.Helper()
	before := measure(b, s)
	work()
	after := measure(b, s)
	return cpu{after.server - before.server, after.postgres - before.postgres, after.own - before.own}
}

func measure(b *testing.B, s *rig.Server) cpu {
	b.Helper()
	server, err := backendtest.ProcessTime(s.PID())
	if err != nil {
		b.Fatal(err)
	}
	postgres, err := backendtest.TreeTime(s.PostmasterPID())
	if err != nil {
		b.Fatal(err)
	}
	own, err := backendtest.ProcessTime(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	return cpu{server, postgres, own}
}

func checkNothingHeld(b *testing.B, ctx context.Context, s *rig.Server) {
	b.Helper()
	nodes, err := s.Admin.Nodes(ctx, backendtest.NodeFilter{}, backendtest.Page{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes.Items {
		if n.Reserved.Slots != 0 {
			b.Errorf("node %s still has %d slots reserved", n.ID, n.Reserved.Slots)
		}
	}
}
