package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/inventory"
	"rockpool/agent/internal/link"
	"rockpool/agent/internal/local"
	"rockpool/agent/internal/runner"
	"rockpool/agent/internal/spool"
	"rockpool/shared/buildinfo"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Agent is one node's process.
type Agent struct {
	cfg   Config
	log   *slog.Logger
	hurry chan struct{}
}

// New makes an agent from a configuration that LoadConfig has validated.
func New(cfg Config, log *slog.Logger) *Agent {
	return &Agent{cfg: cfg, log: log, hurry: make(chan struct{}, 2)}
}

// Hurry ends running jobs now. It counts once the context of Run has ended, or
// begins the end itself.
func (a *Agent) Hurry() {
	for range cap(a.hurry) { // the first begins the end, the second one does not wait for jobs
		select {
		case a.hurry <- struct{}{}:
		default:
		}
	}
}

// Check does what a start does before it touches the network: it opens the state
// directory, finds a credential and runs the runners' self-tests. An agent that
// runs on the same state directory does not disturb it.
func (a *Agent) Check(ctx context.Context) error {
	if a.cfg.Standalone() {
		return nil
	}
	id, err := a.cfg.openState()
	if errors.Is(err, identity.ErrInUse) {
		return a.cfg.selfTest(ctx)
	}
	if err != nil {
		return err
	}
	_, err = a.prepare(ctx, id)
	return errors.Join(err, id.Close())
}

// selfTest is the part of a check that needs no state.
func (c Config) selfTest(ctx context.Context) error {
	book, err := c.book()
	if err != nil {
		return err
	}
	return book.SelfTest(ctx)
}

// Run works until ctx ends, and then as long as the stop takes: no new work, and
// the running jobs to their end or to the stop timeout. When it returns nothing of
// the agent is left running.
func (a *Agent) Run(ctx context.Context) (err error) {
	if a.cfg.Standalone() {
		a.warn()
		a.log.Info("no server_url: this agent runs standalone and does nothing")
		<-ctx.Done()
		return nil
	}
	id, err := a.cfg.openState()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, id.Close()) }()
	book, err := a.prepare(ctx, id)
	if err != nil {
		return err
	}
	a.warn() // a start that is refused says the one thing
	return a.serve(ctx, id, book)
}

func (a *Agent) warn() {
	for _, w := range a.cfg.warnings() {
		a.log.Warn(w)
	}
}

// prepare refuses a start that could not work. Self-tests come last: they take time.
func (a *Agent) prepare(ctx context.Context, id *identity.Identity) (*runner.Book, error) {
	book, err := a.cfg.book()
	if err != nil {
		return nil, err
	}
	if id.Record().Left {
		return nil, SettingError{fmt.Errorf("state_dir: this node has left its fleet: bring it back with rockpool-agent join, or remove %s to register as a new node", id.Dir())}
	}
	if _, err := a.credential(id)(); err != nil {
		return nil, err
	}
	return book, book.SelfTest(ctx)
}

// credential shows the node's secret once it is registered, and before that the
// license code with the secret that the node has made for itself. A node that was
// registered never enrolls again by itself.
func (a *Agent) credential(id *identity.Identity) link.Credential {
	return func() (http.Header, error) {
		header := http.Header{}
		secret, err := id.Show()
		if err != nil {
			return nil, err
		}
		if id.Record().Registered() {
			header.Set("Authorization", "Bearer "+secret.Reveal())
			return header, nil
		}
		code, err := a.cfg.licenseCode()
		if err != nil {
			return nil, SettingError{err}
		}
		if code == "" {
			return nil, SettingError{fmt.Errorf("license_file: this node is not registered yet: set it to a file with a license code, or set %s", licenseVariable)}
		}
		header.Set("Authorization", "License "+code)
		header.Set(wire.NodeSecretHeader, secret.Reveal())
		return header, nil
	}
}

// closeWait is how long the end waits for processes that were killed.
const closeWait = 2 * time.Second

// serve wires the parts, turns the loop, and takes everything down in turn.
func (a *Agent) serve(ctx context.Context, id *identity.Identity, book *runner.Book) error {
	server, err := url.Parse(a.cfg.ServerURL)
	if err != nil {
		return fmt.Errorf("server_url: %w", err)
	}
	config, err := a.cfg.tls()
	if err != nil {
		return err
	}
	results, err := spool.Open(filepath.Join(id.Dir(), "spool"), a.log)
	if err != nil {
		return err
	}
	client := link.NewClient(server, config, func() string { return id.Secret().Reveal() }, time.Duration(a.cfg.RPCTimeout))
	defer client.Close()

	over := make(chan struct{})
	ended := make(chan runner.Done)
	runners, err := runner.New(a.attempts(id, book, client, ended, over))
	if err != nil {
		return err
	}
	channel := link.New(link.Config{Server: server, TLS: config, Credential: a.credential(id), Log: a.log})
	d := &disk{spool: results, id: id, link: channel, log: a.log, room: int64(a.cfg.DiskFree), asked: make(chan []diskTask), done: make(chan []diskDone), over: over}
	written := make(chan struct{})
	go func() {
		defer close(written)
		d.run()
	}()

	l := a.newLoop(id, book, results)
	l.link, l.runners, l.ended, l.disk = channel, runners, ended, d
	l.isolation = runners.Isolation()
	a.log.Info("jobs are kept apart", "by", strings.Join(l.isolation, ","))
	l.tasks = append(l.tasks, diskTask{watch: true}) // known before the first session
	l.rotation = newRotation(id, client, a.log)
	l.selfTest = newSelfTest(runners.SelfTest)
	l.supervisor = a.connectSupervisor()
	defer func() { _ = l.supervisor.Close() }()
	answered := a.answer(id.Dir(), &counter{asked: l.asked, over: make(chan struct{})})
	looked := a.lookAround(id, book, l.isolation, l.collected)
	l.tellSupervisor(l.supervisor.Ready())
	l.run(ctx, a.hurry)
	looked()

	close(over)
	d.asked <- l.tasks // what the disk had no time for yet
	close(d.asked)
	<-written
	if !runners.Close(closeWait) {
		a.log.Error("processes of jobs do not die: the next start of this agent kills them")
	}
	channel.Close()
	a.log.Info("stopped", "spooled", len(results.Refs()), "left", l.left)
	results.Close()
	if l.left {
		err = id.Leave()
	}
	answered(l.left && err == nil)
	return err
}

// attempts is how attempts run: the end of each comes to ended, until over is closed.
func (a *Agent) attempts(id *identity.Identity, book *runner.Book, files *link.Client, ended chan<- runner.Done, over <-chan struct{}) runner.Config {
	return runner.Config{
		Book: book, Dir: a.cfg.jobs(id.Dir()), Source: files, Sink: files, InputLimit: int64(a.cfg.InputLimit),
		StopGrace: time.Duration(a.cfg.StopGrace), Log: a.log,
		Done: func(d runner.Done) {
			select {
			case ended <- d:
			case <-over:
			}
		},
	}
}

// lookAround collects what this machine has until the function is called.
func (a *Agent) lookAround(id *identity.Identity, book *runner.Book, isolation []string, to chan<- wire.Inventory) (stop func()) {
	keeper := inventory.NewKeeper(inventory.Machine{
		Root: "/", Dir: id.Dir(), Links: links(a.cfg.Links), Programs: book.Programs(), Isolated: isolation,
	}, filepath.Join(id.Dir(), "inventory.json"), a.log)
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	looking.Go(func() {
		keeper.Run(ctx, func(i wire.Inventory) {
			select {
			case to <- i:
			case <-ctx.Done():
			}
		})
	})
	return func() { cancel(); looking.Wait() }
}

func (a *Agent) newLoop(id *identity.Identity, book *runner.Book, results *spool.Spool) *loop {
	machine := identity.ThisMachine(id.Dir())
	a.log.Info("agent begins", "version", buildinfo.Get().String(), "node", id.Record().NodeID, "server", a.cfg.ServerURL,
		"process", local.Short(id.BootID()), "machine", local.Short(machine.ID),
		"runners", strings.Join(book.Names(), ","), "machine_id_from", strings.Join(machine.From, ","),
		"machine_id_without", strings.Join(machine.Missing, ","), "spooled", len(results.Refs()))
	return &loop{
		node:  nodecore.New(a.nodeConfig(id, book, results)),
		clock: clock{time.Now()}, collected: make(chan wire.Inventory), slept: suspended(), id: id, hello: a.hello(id, book, machine), log: a.log,
		asked: make(chan func(*loop)), server: a.cfg.ServerURL, goodbye: wire.GoodbyeStop,
		offers: map[nodecore.Ref]wire.Offer{}, results: map[nodecore.Ref]wire.Result{},
	}
}

// nodeConfig is what the deciding code goes by.
func (a *Agent) nodeConfig(id *identity.Identity, book *runner.Book, results *spool.Spool) nodecore.Config {
	return nodecore.Config{
		Seed: rand.Uint64(), Slots: int(a.cfg.Slots), Runners: book.Names(), Backend: a.cfg.Backend,
		SpoolMax: int(a.cfg.SpoolLimit), Spooled: results.Refs(), Chain: id.Record().Chain,
		StartTimeout: milliseconds(a.cfg.startTimeout),
		SelfTestWait: milliseconds(a.cfg.selfTestWait),
		RPCTimeout:   milliseconds(time.Duration(a.cfg.RPCTimeout)),
		StopTimeout:  milliseconds(time.Duration(a.cfg.StopTimeout)),
		StopGrace:    milliseconds(time.Duration(a.cfg.StopGrace)),
	}
}

func (a *Agent) hello(id *identity.Identity, book *runner.Book, machine identity.Machine) wire.Hello {
	h := a.cfg.hello()
	h.ProtoMin, h.ProtoMax = wire.ProtoMin, wire.ProtoMax
	h.AgentVersion, h.OS, h.Arch = buildinfo.Get().Version, runtime.GOOS, runtime.GOARCH
	h.MachineID, h.BootID, h.Runners = machine.ID, id.BootID(), book.Names()
	return h
}
