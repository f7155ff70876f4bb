package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	natsWorkers = 10
	natsPending = 4_096 // publications at a time that are not yet confirmed
	natsPull    = 512
	natsStart   = 10 * time.Second
)

// natsPeer is a work queue on disk: with always, every write is flushed before it is
// confirmed; else the server flushes every two minutes.
type natsPeer struct {
	dir     string
	server  *server.Server
	publish jetstream.JetStream
	conns   []*nats.Conn
	done    atomic.Int64
	changed chan struct{}
}

func newNATS(ctx context.Context, always bool) (peer, error) {
	dir, err := os.MkdirTemp("", "peers-nats-")
	if err != nil {
		return nil, err
	}
	n := &natsPeer{dir: dir, changed: make(chan struct{}, 1)}
	if err := n.start(ctx, always); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *natsPeer) start(ctx context.Context, always bool) (err error) {
	n.server, err = server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: n.dir, SyncAlways: always,
	})
	if err != nil {
		return err
	}
	n.server.Start()
	if !n.server.ReadyForConnections(natsStart) {
		return errors.New("the server is not ready")
	}
	if n.publish, err = n.connect(); err != nil {
		return err
	}
	stream, err := n.publish.CreateStream(ctx, jetstream.StreamConfig{
		Name: "JOBS", Subjects: []string{"jobs"}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
	})
	if err != nil {
		return fmt.Errorf("make the stream: %w", err)
	}
	_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 100_000})
	if err != nil {
		return fmt.Errorf("make the consumer: %w", err)
	}
	for range natsWorkers {
		if err := n.hire(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (n *natsPeer) connect() (jetstream.JetStream, error) {
	conn, err := nats.Connect(n.server.ClientURL())
	if err != nil {
		return nil, err
	}
	n.conns = append(n.conns, conn)
	return jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(natsPending))
}

// hire adds a worker with a connection of its own, which acknowledges each job.
func (n *natsPeer) hire(ctx context.Context) error {
	stream, err := n.connect()
	if err != nil {
		return err
	}
	consumer, err := stream.Consumer(ctx, "JOBS", "workers")
	if err != nil {
		return err
	}
	_, err = consumer.Consume(func(m jetstream.Msg) {
		if m.Ack() != nil {
			return // it comes again
		}
		n.done.Add(1)
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}, jetstream.PullMaxMessages(natsPull))
	return err
}

func (n *natsPeer) run(ctx context.Context, jobs int) (time.Duration, error) {
	target := n.done.Load() + int64(jobs)
	began := time.Now()
	job := []byte(`{"app":"load","runner":"noop"}`)
	for range jobs {
		if _, err := n.publish.PublishAsync("jobs", job, jetstream.WithStallWait(time.Minute)); err != nil {
			return 0, err
		}
	}
	select {
	case <-n.publish.PublishAsyncComplete():
	case <-time.After(time.Minute):
		return 0, errors.New("publications are not confirmed")
	}
	for n.done.Load() < target {
		select {
		case <-n.changed:
		case <-time.After(time.Minute):
			return 0, fmt.Errorf("%d jobs are not done", target-n.done.Load())
		}
	}
	return time.Since(began), nil
}

func (n *natsPeer) close() error {
	for _, conn := range n.conns {
		conn.Close()
	}
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
	return os.RemoveAll(n.dir)
}
