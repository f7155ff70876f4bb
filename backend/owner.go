package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/api"
	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/dispatch"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/session"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/view"
	"rockpool/shared/buildinfo"
	"rockpool/shared/footprint"
	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// owner is the server while it holds the shard: the parts, put together.
type owner struct {
	cfg   Config
	db    *store.DB
	shard *store.Shard
	log   *slog.Logger

	clock   dispatch.Clock
	hub     *session.Hub
	loop    *dispatch.Loop
	desk    *enroll.Desk
	gate    *access.Gate
	policy  *access.Policy
	view    *view.View
	gateway *session.Gateway
	answers answering

	artifacts *artifact.Store
}

func newOwner(cfg Config, db *store.DB, shard *store.Shard, log *slog.Logger) (*owner, error) {
	policy, err := access.NewPolicy(log)
	if err != nil {
		return nil, err
	}
	o := &owner{cfg: cfg, db: db, shard: shard, log: log, clock: dispatch.NewClock(), gate: access.NewGate(db, time.Now), policy: policy}
	db.SetClock(o.clock.At)
	o.answers.tell(true, time.Now())
	o.hub = session.NewHub(session.Config{
		Times: cfg.Lease.wire(), OfferTimeout: time.Duration(cfg.Lease.OfferTimeout), Logger: log, Version: buildinfo.Get().Version,
	})
	writer := store.NewWriter(db, shard.Epoch(), o.clock.WallAt)
	o.loop = dispatch.New(dispatch.Config{
		Core: cfg.core(), Clock: o.clock, Logger: log,
		Fenced: func(err error) bool { return errors.Is(err, store.ErrFenced) },
	}, db, writer, o.hub)
	o.desk = enroll.NewDesk(db, o.loop, log, time.Now)
	o.view = view.New(view.Config{Source: o.loop, Store: db, Log: log})
	o.gateway = session.NewGateway(o.hub, o.loop, o.desk, consoleDoor{gate: o.gate, policy: policy, db: db}, o.view)
	return o, nil
}

// run works until ctx ends or the shard is lost.
func (o *owner) run(ctx context.Context, front *gate, address net.Addr) error {
	handler, err := o.newFront()
	if err != nil {
		return err
	}
	if err := o.db.EnsurePartitions(ctx, time.Now()); err != nil {
		return fmt.Errorf("make the partitions of the days ahead: %w", err)
	}
	// The loop ends after the sessions: it takes their last words.
	loopCtx, stopLoop := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.loop.Run(loopCtx) })
	group.Go(func() error { return o.shard.Run(ctx) })
	group.Go(func() error { return o.showView(ctx) })
	group.Go(func() error { return o.keepHouse(ctx) })
	group.Go(func() error { return o.watchDatabase(ctx) })
	if o.cfg.MetricsListen != "" {
		group.Go(func() error { return o.serveMetrics(ctx) })
	}
	group.Go(func() error {
		defer stopLoop()
		return o.open(ctx, front, handler, address)
	})
	return group.Wait()
}

// showView keeps the view current once the fleet is loaded.
func (o *owner) showView(ctx context.Context) error {
	select {
	case <-o.loop.Ready():
		return o.view.Run(ctx)
	case <-ctx.Done():
		return nil
	}
}

// open lets requests in once the fleet is loaded, and ends the sessions at ctx's end.
func (o *owner) open(ctx context.Context, front *gate, handler http.Handler, address net.Addr) error {
	select {
	case <-o.loop.Ready():
	case <-ctx.Done():
		return nil
	}
	if err := o.offerSetup(ctx, address, os.Stdout); err != nil {
		return err
	}
	front.pass(handler)
	o.log.Info("ready", "address", address.String(), "version", buildinfo.Get().Version)
	footprint.Shrink() // the start took more than twice what running needs
	<-ctx.Done()
	front.close(fleet.Errorf(fleet.CodeUnavailable, "the server is stopping"))
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := o.gateway.Close(closeCtx); err != nil {
		o.log.Warn("sessions were cut", "error", err)
	}
	if err := o.flushSeen(closeCtx); err != nil {
		o.log.Warn("when nodes were last seen is not written", "error", err)
	}
	return nil
}

func (o *owner) newAPI() (http.Handler, error) {
	limits := artifact.Limits{File: o.cfg.Artifact.MaxBytes, Owner: o.cfg.Artifact.OwnerBytes, Total: o.cfg.Artifact.TotalBytes}
	var err error
	if o.artifacts, err = artifact.Open(filepath.Join(o.cfg.DataDir, "artifacts"), limits, o.db); err != nil {
		return nil, err
	}
	build := buildinfo.Get()
	return api.New(api.Config{
		Store: o.db, Dispatch: o.loop, Artifacts: o.artifacts, Gate: o.gate, Policy: o.policy,
		Consoles: o.gateway, Histories: o.view, Logs: o.hub, Channel: o.gateway, Ready: o, Now: time.Now, Log: o.log,
		Fleet: o.cfg.Name, Heartbeat: time.Duration(o.cfg.Lease.Heartbeat), Version: rest.Version{Version: build.Version, Commit: build.Commit, Go: build.Go},
	})
}

// Ready reports a server that can take work: its database answers.
func (o *owner) Ready(ctx context.Context) error {
	if err := context.Cause(o.Database()); err != nil {
		return err
	}
	return o.askDatabase(ctx)
}

// Database ends once the watcher finds the database away.
func (o *owner) Database() context.Context { return o.answers.now() }

func (o *owner) askDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := o.db.Ping(ctx); err != nil {
		return &fleet.Error{Code: fleet.CodeUnavailable, Detail: "the database does not answer", Cause: err}
	}
	return nil
}

// databaseLook lies between two looks whether the database answers.
const databaseLook = time.Second

// watchDatabase tells the loop when the database stops to answer, and when it is
// back: one that hangs shows in no error, and nodes that dial anew meanwhile can't be
// identified.
func (o *owner) watchDatabase(ctx context.Context) error {
	answers := true
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(databaseLook):
		}
		err := o.askDatabase(ctx)
		if ctx.Err() != nil || (err == nil) == answers {
			continue
		}
		answers = err == nil
		o.answers.tell(answers, time.Now())
		if answers {
			o.log.Warn("the database answers again: leases run out after a full grace")
		} else {
			o.log.Warn("the database does not answer: no lease runs out", "error", err)
		}
		o.loop.Database(answers)
	}
}

// idempotencyKept is how long a POST's key is remembered.
const idempotencyKept = 24 * time.Hour

// keepHouse makes the partitions of the days ahead, forgets old keys and writes
// when nodes were last seen: once a minute, in one statement each. Once an hour it
// forgets old history; what could not be forgotten is due again a minute later.
func (o *owner) keepHouse(ctx context.Context) error {
	history := []struct {
		what   string
		forget func(context.Context, time.Time) error
		done   time.Time
	}{
		{what: "forget old work", forget: o.pruneWork},
		{what: "forget old alarms", forget: o.pruneAlarms},
		{what: "forget old artifacts", forget: o.pruneArtifacts},
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
		}
		now := time.Now()
		o.warn("make the partitions of the days ahead", o.db.EnsurePartitions(ctx, now))
		o.warn("forget console sessions that are over", o.db.PruneConsoleSessions(ctx))
		o.warn("forget old idempotency keys", o.db.PruneIdempotency(ctx, now.Add(-idempotencyKept)))
		o.warn("write when nodes were last seen", o.flushSeen(ctx))
		for i := range history {
			if h := &history[i]; now.Sub(h.done) >= time.Hour {
				err := h.forget(ctx, now)
				if o.warn(h.what, err); err == nil {
					h.done = now
				}
			}
		}
	}
}

// pruneWork forgets the jobs and placements that are older than they are to be kept.
func (o *owner) pruneWork(ctx context.Context, now time.Time) error {
	if kept := time.Duration(o.cfg.Retention.Jobs); kept > 0 {
		return o.db.PruneWork(ctx, now.Add(-kept))
	}
	return nil
}

func (o *owner) pruneAlarms(ctx context.Context, now time.Time) error {
	if kept := time.Duration(o.cfg.Retention.Alarms); kept > 0 {
		return o.db.PruneAlarms(ctx, now.Add(-kept))
	}
	return nil
}

// pruneArtifacts forgets old artifacts, and then removes the files that nobody's
// row names any more, with what is left of uploads.
func (o *owner) pruneArtifacts(ctx context.Context, now time.Time) error {
	if kept := time.Duration(o.cfg.Retention.Artifacts); kept > 0 {
		jobs := time.Unix(0, 0) // all are kept
		if kept := time.Duration(o.cfg.Retention.Jobs); kept > 0 {
			jobs = now.Add(-kept)
		}
		if err := o.db.PruneArtifacts(ctx, now.Add(-kept), jobs); err != nil {
			return err
		}
	}
	swept, err := o.artifacts.Sweep(ctx, now.Add(-time.Duration(o.cfg.Retention.Uploads)))
	if swept != (artifact.Swept{}) {
		o.log.Info("artifacts are removed from the disk", "files", swept.Files, "unfinished_uploads", swept.Uploads, "bytes", swept.Bytes)
	}
	return err
}

func (o *owner) warn(what string, err error) {
	switch {
	case errors.Is(err, store.ErrInUse):
		o.log.Info("housekeeping is put off; it is tried again in a minute", "what", what, "because", err)
	case err != nil:
		o.log.Warn("housekeeping failed; it is tried again in a minute", "what", what, "error", err)
	}
}

func (o *owner) flushSeen(ctx context.Context) error {
	view, err := o.loop.Fleet(ctx)
	if err != nil {
		return err
	}
	var nodes []string
	var seen []time.Time
	for _, n := range view.Nodes {
		if n.LastSeen > 0 {
			nodes, seen = append(nodes, n.Record.ID), append(seen, o.clock.WallAt(n.LastSeen))
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	return o.db.TouchNodes(ctx, nodes, seen)
}

func ms(d settings.Duration) int64 { return time.Duration(d).Milliseconds() }

func (l Lease) wire() wire.Times {
	return wire.Times{Heartbeat: ms(l.Heartbeat), Suspect: ms(l.Suspect), Lost: ms(l.Lost), RedialWindow: ms(l.RedialWindow)}
}

// Times of work that no setting changes, in milliseconds.
const (
	cancelSlack  = 30_000    // after a cancel's grace
	defaultGrace = 10_000    // of a cancel that names none
	avoidFor     = 30_000    // a job keeps away from a node that did not take it
	transferTime = 3_600_000 // that agents give an attempt's inputs, and again its outputs
	reserveAfter = 10_000    // large work that is stuck for so long gets a node reserved
)

func (c *Config) core() core.Config {
	l := &c.Lease
	return core.Config{
		Heartbeat: fleet.Time(ms(l.Heartbeat)), Suspect: fleet.Time(ms(l.Suspect)), Lost: fleet.Time(ms(l.Lost)),
		OfferTimeout: fleet.Time(ms(l.OfferTimeout)), CancelSlack: cancelSlack, DefaultGrace: defaultGrace, AvoidFor: avoidFor,
		TransferTime: transferTime, ReserveAfter: reserveAfter, QueueLimit: c.Queue.Limit,
	}
}
