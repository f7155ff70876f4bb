package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"rockpool/backend/internal/client"
)

// processRunner is the runner of real agents: a process that does nothing.
const processRunner = "nothing"

// realAgents are processes of the agent's own program.
type realAgents struct {
	stage *stage
	dir   string
	run   []*child
}

const agentSettings = `server_url = %q
state_dir = %q
license_file = %q
node_id = "load-%05d"
slots = %d
log_level = "warn"

[[runner]]
name = %q
bin = "/bin/true"
argv = ["{{bin}}"]
selftest = ["{{bin}}"]
`

// startRealAgents starts them one after the other and waits until all are ready.
func (s *stage) startRealAgents(ctx context.Context, licenses []string) (started agents, err error) {
	dir, err := os.MkdirTemp("", "rockpool-load-agents-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the agents: %w", err)
	}
	r := &realAgents{stage: s, dir: dir}
	defer func() {
		if err != nil {
			started, err = nil, errors.Join(err, r.Close())
		}
	}()
	for i := range s.options.Agents {
		if err := r.start(i, licenses[i%len(licenses)]); err != nil {
			return nil, err
		}
	}
	return r, r.awaitReady(ctx)
}

func (r *realAgents) start(i int, license string) error {
	dir := filepath.Join(r.dir, fmt.Sprint(i))
	licenseFile, config := filepath.Join(dir, "license"), filepath.Join(dir, "agent.toml")
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		return fmt.Errorf("make an agent's folder: %w", err)
	}
	o := r.stage.options
	settings := fmt.Sprintf(agentSettings, r.stage.server.url, filepath.Join(dir, "state"), licenseFile, i, o.Slots, processRunner)
	if err := errors.Join(os.WriteFile(licenseFile, []byte(license), 0o600), os.WriteFile(config, []byte(settings), 0o600)); err != nil {
		return fmt.Errorf("write an agent's settings: %w", err)
	}
	process := exec.Command(o.AgentsBin, "--config", config)
	process.Env = plainEnvironment()
	a, err := startChild("an agent", filepath.Join(r.dir, fmt.Sprintf("%d.log", i)), process)
	if err != nil {
		return err
	}
	r.run = append(r.run, a)
	return nil
}

func (r *realAgents) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinWait)
	defer cancel()
	for {
		nodes, err := client.All(ctx, r.stage.nodes, client.Page{})
		ready := 0
		for _, n := range nodes.Items {
			if n.Lease == "ready" {
				ready++
			}
		}
		if ready == r.stage.options.Agents {
			return nil
		}
		if err := errors.Join(err, r.alive(), sleep(ctx, 100*time.Millisecond)); err != nil {
			return fmt.Errorf("%d of %d agents are ready: %w", ready, r.stage.options.Agents, err)
		}
	}
}

// alive reports an agent that has ended.
func (r *realAgents) alive() error {
	for _, a := range r.run {
		if err := a.alive(); err != nil {
			return err
		}
	}
	return nil
}

// askEvery is how often the database is asked: each time costs it as much as a job
// does. As many jobs are open as are done in that time, and more.
const (
	askEvery = 50 * time.Millisecond
	openReal = 100
)

// done asks the database.
func (r *realAgents) done(ctx context.Context, past int) (int, error) {
	overdue := time.After(fleetPatience)
	for {
		if err := r.alive(); err != nil {
			return 0, err
		}
		taken := r.stage.taken.Load() // before the others are counted: what comes meanwhile is not done
		open, err := r.stage.db.Open(ctx)
		done := int(taken - open)
		if err != nil || done > past {
			return done, err
		}
		select {
		case <-overdue:
			return done, nil
		case <-time.After(askEvery):
		}
	}
}

func (r *realAgents) pids() (list []int) {
	for _, a := range r.run {
		list = append(list, a.Process.Pid)
	}
	return list
}

// Close stops them and removes their folders.
func (r *realAgents) Close() error {
	errs := make([]error, len(r.run))
	var ending sync.WaitGroup
	for i, a := range r.run {
		ending.Go(func() { errs[i] = a.end() })
	}
	ending.Wait()
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}
