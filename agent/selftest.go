package agent

import (
	"context"
	"strings"
	"sync"
)

// selfTest looks, beside the loop, whether jobs can be started again.
type selfTest struct {
	test    func(context.Context) error
	done    chan string // why it failed; empty: it passed
	ctx     context.Context
	cancel  context.CancelFunc
	testing sync.WaitGroup
}

func newSelfTest(test func(context.Context) error) *selfTest {
	s := &selfTest{test: test, done: make(chan string)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// begin tests once; what came of it is told by done.
func (s *selfTest) begin() {
	s.testing.Go(func() {
		why := ""
		if err := s.test(s.ctx); err != nil {
			why = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		select {
		case s.done <- why:
		case <-s.ctx.Done():
		}
	})
}

// stop ends a test that is under way.
func (s *selfTest) stop() {
	s.cancel()
	s.testing.Wait()
}
