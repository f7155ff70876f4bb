package view

import (
	"context"
	"fmt"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
)

// sink counts what it gets.
type sink struct{ bytes int }

func (s *sink) Delta(_ string, _ int64, e wire.Encoded) { s.bytes += e.Size() }

func largeView(b *testing.B) (*viewtest.Stage, *View) {
	stage := viewtest.New()
	var nodes []core.NodeView
	for i := range 10_000 {
		nodes = append(nodes, viewtest.Node(fmt.Sprintf("node-%05d", i), int64(i%50+1)))
	}
	stage.Put(nodes...)
	return stage, New(Config{Source: stage, Store: stage})
}

// BenchmarkSnapshot is what opening the page of 10,000 nodes costs.
func BenchmarkSnapshot(b *testing.B) {
	_, v := largeView(b)
	for b.Loop() {
		sub, snapshot, err := v.Subscribe(context.Background(), &everybody, wire.TopicNodes, wire.Filter{}, &sink{})
		if err != nil {
			b.Fatal(err)
		}
		for last := false; !last; {
			if _, last, err = snapshot.Next(); err != nil {
				b.Fatal(err)
			}
		}
		sub.End()
	}
}

// BenchmarkTick is one tick in which 500 of 10,000 nodes changed, as a quarter of
// a second brings them at 2,000 a second.
func BenchmarkTick(b *testing.B) {
	stage, v := largeView(b)
	to := &sink{}
	sub, _, err := v.Subscribe(context.Background(), &everybody, wire.TopicNodes, wire.Filter{}, to)
	if err != nil {
		b.Fatal(err)
	}
	defer sub.End()
	for n := 0; b.Loop(); n++ {
		for i := range 500 {
			stage.Change(fmt.Sprintf("node-%05d", (n*500+i)%10_000), func(v *core.NodeView) { v.Spooled++ })
		}
		v.look(context.Background(), 0)
	}
	b.ReportMetric(float64(to.bytes)/float64(b.N), "bytes/tick")
}
