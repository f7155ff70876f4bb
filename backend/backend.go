package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store"
)

// stopWithin bounds a planned stop's parts, each.
const stopWithin = 10 * time.Second

// Run serves until ctx ends, and then stops in the order in which the parts lean
// on each other: no new requests, sessions, the last commit, the shard, the
// database. An error says what could not begin or go on.
func Run(ctx context.Context, cfg Config) error {
	log := newLogger(cfg.Log, os.Stderr)
	listener, err := listen("listen", cfg.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	front := newGate()
	server := newHTTPServer(front, bodyTimeout, log)
	group, groupCtx := errgroup.WithContext(ctx)
	// The listener outlives the work behind it: it says that the server stops.
	frontCtx, stopFront := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return serveHTTP(frontCtx, server, listener, cfg.TLSCert, cfg.TLSKey) })
	group.Go(func() error {
		defer stopFront()
		return run(groupCtx, cfg, front, listener.Addr(), log)
	})
	return group.Wait()
}

// run opens the database, waits for the shard and dispatches while it has it.
func run(ctx context.Context, cfg Config, front *gate, address net.Addr, log *slog.Logger) (err error) {
	db, err := openDatabase(ctx, cfg, log)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer func() { err = errors.Join(err, db.close()) }()
	shard, err := awaitShard(ctx, db.DB, front, log)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer func() {
		if releaseErr := shard.Release(context.WithoutCancel(ctx)); releaseErr != nil {
			log.Warn("the shard's lease was not given back; a standby waits until it ends", "error", releaseErr)
		}
	}()
	owner, err := newOwner(cfg, db.DB, shard, log)
	if err != nil {
		return err
	}
	return owner.run(ctx, front, address)
}

// unlessStopped is nil for an error that only says that the server was told to stop.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// awaitShard becomes the one that dispatches; until then it is a standby and says
// who holds the shard.
func awaitShard(ctx context.Context, db *store.DB, front *gate, log *slog.Logger) (*store.Shard, error) {
	told := ""
	for {
		shard, err := db.AcquireShard(ctx, holderName())
		var held *store.HeldError
		switch {
		case err == nil:
			log.Info("this server dispatches", "epoch", shard.Epoch())
			return shard, nil
		case errors.As(err, &held):
			front.refuse(fleet.Errorf(fleet.CodeStandby, "this server is a standby; "+held.Holder+" dispatches"))
			if told != held.Holder {
				log.Info("standby: another server dispatches", "holder", held.Holder)
				told = held.Holder
			}
		default:
			log.Warn("the shard can't be asked for", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func holderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s (pid %d)", host, os.Getpid())
}

func newLogger(cfg Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // validated
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
