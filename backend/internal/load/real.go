package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"rockpool/backend/internal/client"
)

// processRunner is the runner of real agents: a process that does nothing.
const processRunner = "nothing"

// realAgents are processes of the agent's own program.
type realAgents struct {
	stage *stage
	dir   string
	run   []*realAgent
}

type realAgent struct {
	process *exec.Cmd
	ended   chan struct{} // closed after Wait
	err     error         // of Wait
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
	file, err := os.Create(r.logFile(i))
	if err != nil {
		return fmt.Errorf("make an agent's log: %w", err)
	}
	defer file.Close()
	process := exec.Command(o.AgentsBin, "--config", config)
	process.Env, process.Stdout, process.Stderr = plainEnvironment(), file, file
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start an agent: %w", err)
	}
	a := &realAgent{process: process, ended: make(chan struct{})}
	go func() { a.err = process.Wait(); close(a.ended) }()
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

// alive reports an agent that has ended, with its last words.
func (r *realAgents) alive() error {
	for i, a := range r.run {
		select {
		case <-a.ended:
			return fmt.Errorf("an agent ended by itself: %w: %s", a.err, lastWords(r.logFile(i)))
		default:
		}
	}
	return nil
}

func (r *realAgents) logFile(i int) string { return filepath.Join(r.dir, fmt.Sprintf("%d.log", i)) }

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
		list = append(list, a.process.Process.Pid)
	}
	return list
}

// Close stops them and removes their folders.
func (r *realAgents) Close() (err error) {
	for _, a := range r.run {
		_ = a.process.Process.Signal(syscall.SIGTERM) // it fails when the agent has ended
	}
	for _, a := range r.run {
		select {
		case <-a.ended:
		case <-time.After(stopWait):
			_ = a.process.Process.Kill()
			<-a.ended
		}
		err = errors.Join(err, a.err)
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}
