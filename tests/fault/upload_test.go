package fault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// maker is a runner that makes a file of its own and says what its digest is: what
// the server has in the end is held against the tool's word, not the agent's.
const maker = `
[[runner]]
name    = "make"
argv    = ["/bin/sh", "-c", "head -c 4000000 /dev/urandom > made && sha256sum < made > sum"]
outputs = ["made", "sum"]
success = { outputs = ["made", "sum"] }
`

const made = 4_000_000 // bytes of a job's larger file

// uploads is a fleet of one node whose agent is killed again and again.
type uploads struct {
	t      *testing.T
	server *rig.Server
	user   *backendtest.Client
	agent  *rig.Agent
	db     *pgx.Conn
	random *rand.Rand
	jobs   []string
}

// TestKill9Agent_EachResultOnceAndNoPartForTheWhole kills the agent at random moments
// of its jobs, at every other one while the server has a part of a file.
func TestKill9Agent_EachResultOnceAndNoPartForTheWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	jobs, kills := 20, 5
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		jobs, kills = 300, 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	u := &uploads{t: t, random: rand.New(rand.NewPCG(seed, 0))}
	u.server = rig.NewServer(t, "ROCKPOOL_LEASE_REDIAL_WINDOW=500ms")
	u.connect()
	owner, user := u.server.NewUser(t, "uploads", "uploads")
	u.user = user
	u.agent = rig.NewAgent(t, u.server, rig.AgentOptions{Name: "uploader", License: u.server.NewLicense(t, owner, 1), Slots: 2, More: maker})
	u.submit(jobs)
	for i := range kills {
		u.strike(i%2 == 0)
	}
	u.check()
}

func (u *uploads) connect() {
	db, err := pgx.Connect(context.Background(), u.server.DatabaseURL())
	if err != nil {
		u.t.Fatal(err)
	}
	u.db = db
	u.t.Cleanup(func() { _ = db.Close(context.Background()) })
}

func (u *uploads) submit(jobs int) {
	attempts, none := int32(100), backendtest.Duration(0)
	for range jobs {
		job, err := u.user.SubmitJob(context.Background(), backendtest.JobRequest{App: "uploads", Runner: "make", MaxAttempts: &attempts, RetryBackoff: &none}, "")
		if err != nil {
			u.t.Fatal(err)
		}
		u.jobs = append(u.jobs, job.ID)
	}
}

// strike kills the agent once it works, and starts it again.
func (u *uploads) strike(inUpload bool) {
	rig.Await(u.t, time.Minute, func() (bool, string) {
		works, state := u.works()
		return works || u.open() == 0, state
	})
	if inUpload {
		u.freeze()
		defer u.server.Signal(syscall.SIGCONT)
	} else {
		<-time.After(time.Duration(u.random.IntN(300)) * time.Millisecond)
	}
	u.agent.Kill(u.t)
	u.agent.Start(u.t)
}

// freeze stops the server while it has a part of a file that this agent sends: the
// kill that follows hits an upload, however fast those are.
func (u *uploads) freeze() {
	before := u.incoming()
	rig.Await(u.t, 2*time.Minute, func() (bool, string) {
		for range 200 {
			if u.grows(before) {
				u.server.Freeze(u.t)
				if u.grows(before) {
					return true, ""
				}
				u.server.Signal(syscall.SIGCONT)
			}
			<-time.After(time.Millisecond)
		}
		if u.open() == 0 {
			u.submit(1)
		}
		_, state := u.works() // the hold comes a moment after the agent
		return false, state
	})
}

// works reports that the agent has work. A node that comes back so often is held: its
// operator knows why, and lifts that.
func (u *uploads) works() (bool, string) {
	ctx := context.Background()
	node, err := u.server.Admin.Node(ctx, u.agent.Name)
	if err == nil && len(node.Holds) > 0 {
		_, err = u.server.Admin.LiftHold(ctx, node.ID, "auto", "it is killed on purpose", node.Version)
	}
	return err == nil && node.Reserved.Slots > 0, fmt.Sprintf("%+v, %v", node, err)
}

func (u *uploads) folder(name string) string { return filepath.Join(u.server.Dir, "artifacts", name) }

// incoming are the sizes of the files that the server has not whole.
func (u *uploads) incoming() map[string]int64 {
	entries, err := os.ReadDir(u.folder("incoming"))
	if err != nil {
		u.t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it is whole by now
			sizes[e.Name()] = info.Size()
		}
	}
	return sizes
}

// grows reports a part of a larger file that was not there, or was smaller.
func (u *uploads) grows(before map[string]int64) bool {
	for name, size := range u.incoming() {
		if size > before[name] && size > made/100 && size < made {
			return true
		}
	}
	return false
}

func (u *uploads) query(sql string) (n int) {
	if err := u.db.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		u.t.Fatal(err)
	}
	return n
}

func (u *uploads) open() int { return u.query("SELECT count(*) FROM jobs WHERE ended_at IS NULL") }

// check reads the truth when all has ended.
func (u *uploads) check() {
	u.t.Helper()
	for left := u.open(); left > 0; {
		rig.Await(u.t, 2*time.Minute, func() (bool, string) {
			_, state := u.works()
			now := u.open()
			fewer := now < left
			left = now
			return fewer, fmt.Sprintf("%d jobs are open; %s", now, state)
		})
	}
	again := 0
	for _, id := range u.jobs {
		again += u.checkJob(id)
	}
	u.t.Logf("%d jobs, %d attempts more than those", len(u.jobs), again)
	if n := u.query("SELECT count(*) FROM results"); n != len(u.jobs) {
		u.t.Errorf("%d results of %d jobs are stored", n, len(u.jobs))
	}
	u.checkFiles()
}

// checkJob wants one attempt that succeeded, and what it made, whole.
func (u *uploads) checkJob(id string) (again int) {
	ctx := context.Background()
	job, err := u.user.Job(ctx, id)
	if err != nil {
		u.t.Fatal(err)
	}
	list, err := u.user.Attempts(ctx, id)
	if err != nil {
		u.t.Fatal(err)
	}
	accepted := 0
	for _, a := range list.Items {
		if a.Outcome == "ended" && a.Reason == nil {
			accepted++
		}
	}
	if job.State != "succeeded" || accepted != 1 || len(job.Outputs) != 2 {
		u.t.Errorf("job %s ended %s with %d attempts that succeeded and outputs %v", id, job.State, accepted, job.Outputs)
		return 0
	}
	var sum, file bytes.Buffer
	for name, to := range map[string]*bytes.Buffer{"sum": &sum, "made": &file} {
		if _, err := u.user.GetArtifact(ctx, job.Outputs[name], to); err != nil { // it checks the digest
			u.t.Errorf("output %s of %s: %v", name, id, err)
		}
	}
	word, _, _ := strings.Cut(sum.String(), " ")
	if file.Len() != made || job.Outputs["made"] != "sha256:"+word {
		u.t.Errorf("job %s made %s, the server has %s of %d bytes", id, word, job.Outputs["made"], file.Len())
	}
	return len(list.Items) - 1
}

// checkFiles holds each file of the server against its name.
func (u *uploads) checkFiles() {
	files := 0
	err := filepath.WalkDir(u.folder("sha256"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if sum := sha256.Sum256(content); err == nil && hex.EncodeToString(sum[:]) != e.Name() {
			err = errors.New(path + " holds something else")
		}
		return err
	})
	if err != nil || files < len(u.jobs) {
		u.t.Errorf("%d files: %v", files, err)
	}
}
