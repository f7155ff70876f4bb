package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// slowConsumers is how many connections the server closed because they did not read.
func slowConsumers(t *testing.T, s *rig.Server) string {
	t.Helper()
	answer, err := http.Get(s.MetricsURL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(name, "channel_slow_consumers") && !strings.HasPrefix(line, "#") {
			return value
		}
	}
	t.Fatalf("no count of slow consumers among the metrics:\n%s", content)
	return ""
}

// A page that never reads, on a real socket whose buffers are full, is closed with
// 4009; it costs the server no more than its outbox, and nobody else anything.
func TestAttack_A30_AConsoleThatNeverReadsIsClosed(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, settings...)
	u := newTenant(t, s)
	var jobs []string
	for i := range 200 {
		jobs = append(jobs, fmt.Sprintf(`{"app": %q, "runner": "noop", "priority": %d}`, u.app, i%100))
	}
	if a := ask(t, s, u.token, "POST", "/v1/jobs/batch", `{"jobs": [`+strings.Join(jobs, ",")+`]}`); a.Status != 200 {
		t.Fatalf("submitting answered %d: %s", a.Status, a.Body)
	}
	p := newPerson(t, s, "superadmin")
	p.signIn()
	other := p.open(wire.Subscribe{Topic: wire.TopicJobs})
	other.until("another console has the jobs", func() bool { return len(other.jobs) == 200 })

	before := slowConsumers(t, s)
	mute := s.MustUpgrade(t, http.Header{"Cookie": {p.cookie}, "Origin": {"http://x"}})
	defer mute.Close()
	// Each subscription asks for all rows anew; none of them is read.
	asked := make([]wire.Body, 256)
	for i := range asked {
		asked[i] = wire.Subscribe{Topic: wire.TopicJobs}
	}
	mute.Send(asked...)
	rig.Await(t, patience, func() (bool, string) { return slowConsumers(t, s) != before, "it reads nothing, and is not closed" })
	// Who does not take the close frame in time is cut.
	if code := mute.ClosedOrCut(); code != wire.CloseSlowConsumer && code != 0 {
		t.Errorf("closed %s, want %s", code, wire.CloseSlowConsumer)
	}
	job := u.submit()
	other.until("the other console goes on", func() bool { return other.jobs[job.ID].ID != "" })
}
