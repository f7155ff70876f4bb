package wire

import (
	"fmt"
	"strings"

	"rockpool/shared/ids"
)

// Validate cleans and checks; see Hello.Validate.
func (m *Subscribe) Validate() error {
	c := checker{kind: TypeSubscribe}
	c.topic(m.Topic)
	c.optionalName("filter.pool", m.Filter.Pool)
	if m.Filter.State != "" {
		oneOf(&c, "filter.state", m.Filter.State, "new", "ready", "suspect", "lost", "left", StateHeld,
			StateCordoned, StateDraining, StateQuarantined, StateAutoHeld)
	}
	if m.Filter != (Filter{}) && m.Topic != TopicNodes {
		c.fail("filter", "is for the topic "+TopicNodes+" only")
	}
	return c.err()
}

// topic demands one of the topics, with an id where one belongs to it.
func (c *checker) topic(topic string) {
	if node, ok := strings.CutPrefix(topic, TopicNode); ok {
		c.name("topic", node)
		return
	}
	if job, ok := strings.CutPrefix(topic, TopicJob); ok {
		if _, err := ids.ParseJobID(job); err != nil {
			c.fail("topic", err.Error())
		}
		return
	}
	oneOf(c, "topic", topic, TopicFleet, TopicPools, TopicNodes, TopicJobs, TopicAlarms, TopicPlacements, TopicNode+"<id>", TopicJob+"<id>")
}

// Validate cleans and checks; see Hello.Validate.
func (m *More) Validate() error {
	c := checker{kind: TypeMore}
	c.topic(m.Topic)
	c.count("part", m.Part)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Unsubscribe) Validate() error {
	c := checker{kind: TypeUnsubscribe}
	c.topic(m.Topic)
	return c.err()
}

// Validate has nothing to check.
func (m *Ping) Validate() error { return nil }

// Validate has nothing to check.
func (m *Pong) Validate() error { return nil }

// Validate cleans and checks; see Hello.Validate.
func (m *WelcomeConsole) Validate() error {
	c := checker{kind: TypeWelcomeConsole}
	c.token("user", m.User, MaxID)
	m.Name = CleanText(m.Name, MaxText)
	c.list("roles", len(m.Roles), MaxHolds)
	for i := 0; i < len(m.Roles) && c.bad == nil; i++ {
		c.name(item("roles", i), m.Roles[i])
	}
	m.Version = CleanText(m.Version, MaxText)
	c.within("times.tick_ms", m.Times.Tick, 1, 3_600_000)
	c.within("times.stale_ms", m.Times.Stale, m.Times.Tick, 3_600_000)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate. Rows come from our own server:
// their lists are within the frame's limits, and a page shows them as text.
func (m *Snapshot) Validate() error {
	c := checker{kind: TypeSnapshot}
	c.topic(m.Topic)
	c.count("rev", m.Rev)
	c.count("part", m.Part)
	c.oneList(len(m.Fleet), len(m.Pools), len(m.Nodes), len(m.Jobs), len(m.Alarms))
	return c.err()
}

// Validate cleans and checks; see Snapshot.Validate.
func (m *Delta) Validate() error {
	c := checker{kind: TypeDelta}
	c.topic(m.Topic)
	c.count("prev", m.Prev)
	c.within("rev", m.Rev, m.Prev+1, MaxInteger)
	c.oneList(len(m.Fleet), len(m.Pools), len(m.Nodes), len(m.Jobs), len(m.Alarms))
	return c.err()
}

// oneList demands rows of one kind at most.
func (c *checker) oneList(lengths ...int) {
	set := 0
	for _, n := range lengths {
		if n > 0 {
			set++
		}
	}
	if set > 1 {
		c.fail("rows", fmt.Sprintf("are of %d kinds", set))
	}
}
