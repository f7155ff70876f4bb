package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
	"rockpool/tests/rig"
)

const consolePassword = "correct horse battery staple"

// person is somebody at a console: what a browser would keep and send.
type person struct {
	t      *testing.T
	s      *rig.Server
	id     string
	name   string
	cookie string // name=value, as the server last set it
}

// newPerson makes a user with a password.
func newPerson(t *testing.T, s *rig.Server, roles ...string) *person {
	t.Helper()
	p := &person{t: t, s: s, name: fmt.Sprintf("person %d", tenants.Add(1))}
	user, err := s.Admin.CreateUser(t.Context(), backendtest.UserRequest{Name: p.name, Roles: roles, Password: consolePassword})
	if err != nil {
		t.Fatal(err)
	}
	p.id = user.ID
	return p
}

// ask sends a request as the page of this server does: with cookie and Origin.
func (p *person) ask(method, path, body string, headers ...string) answer {
	p.t.Helper()
	own := []string{"Origin", p.s.URL, "Sec-Fetch-Site", "same-origin"}
	if p.cookie != "" {
		own = append(own, "Cookie", p.cookie)
	}
	a := ask(p.t, p.s, "", method, path, body, append(own, headers...)...)
	if set := (&http.Response{Header: a.Header}).Cookies(); len(set) > 0 && set[0].Value != "" {
		p.cookie = set[0].Name + "=" + set[0].Value
	}
	return a
}

func (p *person) signIn() {
	p.t.Helper()
	if a := p.ask("POST", "/v1/session", fmt.Sprintf(`{"name": %q, "password": %q}`, p.name, consolePassword)); a.Status != 200 {
		p.t.Fatalf("signing in answered %d: %s", a.Status, a.Body)
	}
}

// console is a page's connection and what it shows.
type console struct {
	t     *testing.T
	conn  *wsconn.Conn
	came  []wire.Message
	rev   map[string]int64
	nodes map[string]wire.NodeRow
	jobs  map[string]wire.JobRow
	pools map[string]wire.PoolRow
	fleet wire.FleetRow
	ends  map[string]int // how often a job became terminal
}

func (p *person) open(topics ...wire.Subscribe) *console {
	p.t.Helper()
	conn, err := wsconn.Dial(p.t.Context(), p.s.URL+wire.ChannelPath, wsconn.DialOptions{
		Header: http.Header{"Cookie": {p.cookie}, "Origin": {p.s.URL}},
	})
	if err != nil {
		p.t.Fatalf("open the console: %v", err)
	}
	p.t.Cleanup(conn.CloseNow)
	c := &console{
		t: p.t, conn: conn, rev: map[string]int64{}, nodes: map[string]wire.NodeRow{}, jobs: map[string]wire.JobRow{},
		pools: map[string]wire.PoolRow{}, ends: map[string]int{},
	}
	welcome, err := wire.Decode[wire.WelcomeConsole](c.next())
	if err != nil || welcome.Name != p.name || welcome.User != p.id {
		p.t.Fatalf("welcomed with %+v, %v", welcome, err)
	}
	for _, topic := range topics {
		c.say(topic)
	}
	return c
}

func (c *console) say(body wire.Body) {
	c.t.Helper()
	if err := c.conn.Send(wire.Msg(body)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *console) next() wire.Message {
	c.t.Helper()
	for len(c.came) == 0 {
		frame, err := c.conn.Receive()
		if err != nil {
			c.t.Fatalf("the console's connection: %v", err)
		}
		c.came = frame.Messages
	}
	m := c.came[0]
	c.came = c.came[1:]
	return m
}

// step takes one message as a page does.
func (c *console) step() {
	c.t.Helper()
	switch m := c.next(); m.Type {
	case wire.TypeSnapshot:
		part, err := wire.Decode[wire.Snapshot](m)
		if err != nil {
			c.t.Fatal(err)
		}
		c.rev[part.Topic] = part.Rev
		c.keep(part.Pools, part.Nodes, part.Jobs)
		c.total(part.Fleet)
		if !part.Last {
			c.say(wire.More{Topic: part.Topic, Part: part.Part + 1})
		}
	case wire.TypeDelta:
		d, err := wire.Decode[wire.Delta](m)
		if err != nil {
			c.t.Fatal(err)
		}
		if d.Prev != c.rev[d.Topic] {
			c.t.Fatalf("a delta of %s leads from %d, held is %d", d.Topic, d.Prev, c.rev[d.Topic])
		}
		c.rev[d.Topic] = d.Rev
		c.keep(d.Pools, d.Nodes, d.Jobs)
		c.total(d.Fleet)
		for _, id := range d.Deletes {
			delete(c.nodes, id)
		}
	case wire.TypeError:
		refused, _ := wire.Decode[wire.Error](m)
		c.t.Fatalf("the console is told %+v", refused)
	}
}

func (c *console) total(rows []wire.FleetRow) {
	if len(rows) > 0 {
		c.fleet = rows[0]
	}
}

func (c *console) keep(pools []wire.PoolRow, nodes []wire.NodeRow, jobs []wire.JobRow) {
	for _, row := range pools {
		c.pools[row.ID] = row
	}
	for _, row := range nodes {
		c.nodes[row.ID] = row
	}
	for _, row := range jobs {
		if row.EndedAt > 0 && c.jobs[row.ID].EndedAt == 0 {
			c.ends[row.ID]++
		}
		c.jobs[row.ID] = row
	}
}

// until takes messages until the condition holds, and says how long that took.
func (c *console) until(what string, holds func() bool) time.Duration {
	c.t.Helper()
	begin := time.Now()
	overdue := time.AfterFunc(patience, c.conn.CloseNow)
	defer overdue.Stop()
	for !holds() {
		c.step()
	}
	c.t.Logf("%s after %v", what, time.Since(begin).Round(time.Millisecond))
	return time.Since(begin)
}

// closed waits for the end of the connection.
func (c *console) closed() wire.CloseCode {
	c.t.Helper()
	overdue := time.AfterFunc(patience, c.conn.CloseNow)
	defer overdue.Stop()
	for {
		if _, err := c.conn.Receive(); err != nil {
			var end *wsconn.End
			errors.As(err, &end)
			return end.Code
		}
	}
}
