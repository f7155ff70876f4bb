package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// hostile is what a node says to whoever reads it: markup, terminal sequences,
// characters that hide or turn the writing.
const hostile = "<img src=x onerror=alert(1)>\x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u2066 a\u200bb\u0085\x00\n__proto__"

// turned reports whether the text holds something that hides or turns.
func turned(text string) bool {
	return text != wire.CleanText(text, 1<<20)
}

// What a node says in a name, a label, a health report, a decline, an error and a
// log reaches the console as text that neither hides nor turns, and costs no frame.
func TestAttack_A69_WhatANodeSaysIsText(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	p := newPerson(t, u.s, "operator")
	p.signIn()
	c := p.open(wire.Subscribe{Topic: wire.TopicNodes, Filter: wire.Filter{Pool: u.pool()}}, wire.Subscribe{Topic: wire.TopicJobs})

	for _, name := range []string{"<b>n</b>", "n\u202e", "__proto__", "a\x1b[31m"} {
		bad := rig.NewRawNode(u.s, rig.RawOptions{Name: name, License: u.license.LicenseCode})
		if err := bad.Connect(t.Context()); err == nil {
			bad.Cut()
			t.Errorf("a node is called %q", name)
		}
	}
	say := func(h wire.Hello) wire.Body {
		h.AgentVersion, h.OS = hostile, hostile
		h.Labels = []wire.Pair{{Name: "__proto__", Value: hostile}, {Name: "constructor", Value: "polluted"}, {Name: "<b>", Value: "\u202e"}}
		return h
	}
	n := u.node("1", rig.RawOptions{Say: say})
	n.Send(t, wire.Heartbeat{Reason: hostile, Health: wire.Health{Reasons: []string{hostile, "\u202e"}}})
	c.until("its health is shown", func() bool { return len(c.nodes[n.Name].HealthReasons) == 2 })
	row := c.nodes[n.Name]
	if len(row.Labels) != 3 || row.Labels[0].Name != "__proto__" || !strings.HasPrefix(row.Labels[0].Value, "<img src=x onerror=alert(1)>") {
		t.Errorf("its labels are %q", row.Labels)
	}
	for _, text := range []string{row.AgentVersion, row.OS, row.AcceptReason, row.HealthReasons[0], row.HealthReasons[1], row.Labels[0].Value, row.Labels[2].Value} {
		if turned(text) {
			t.Errorf("the console is told %q", text)
		}
	}

	cordon := p.ask("POST", "/v1/admin/nodes/"+n.Name+"/cordon", `{"reason": "fan\u202egnp.exe"}`)
	cordon.refused(t, "a reason that turns", 400, "bad_request")

	n.Send(t, heartbeat())
	job := u.submit()
	offer := rig.Hear[wire.Offer](t, n)
	n.Send(t, wire.Decline{Job: offer.Job, Attempt: offer.Attempt, Reason: hostile})
	again := u.node("2", rig.RawOptions{Say: say})
	offer = again.Take(t)
	output := []byte(fmt.Sprintf(`{"__proto__": {"polluted": true}, "note": %q}`, "\u202e<script>\x1b"))
	output = bytes.ReplaceAll(output, []byte(`\x1b`), []byte(`\u001b`))
	verdict := again.Report(t, wire.Result{
		Job: offer.Job, Attempt: offer.Attempt, Status: wire.ResultFailed, Reason: "exit_code", Detail: hostile, ExitCode: new(int64(1)),
		Output: output, Head: []byte(hostile + "\xff"), Tail: []byte(hostile), LogBytes: 1 << 20,
	})
	if verdict != wire.VerdictStored {
		t.Fatalf("the result is %s", verdict)
	}
	c.until("its error is shown", func() bool { return c.jobs[job.ID].Detail != "" })
	if detail := c.jobs[job.ID].Detail; turned(detail) || !strings.HasPrefix(detail, "<img src=x") {
		t.Errorf("the console is told %q", detail)
	}
	for _, path := range []string{"", "/attempts", "/log", "/decision"} {
		a := p.ask("GET", "/v1/jobs/"+job.ID+path, "")
		if a.Status != 200 || !json.Valid([]byte(a.Body)) || strings.ContainsAny(a.Body, "<>\x1b\x00") || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s answers %d %q: %s", path, a.Status, a.Header.Get("Content-Type"), a.Body)
		}
	}
	one := p.open(wire.Subscribe{Topic: wire.TopicNode + n.Name}, wire.Subscribe{Topic: wire.TopicJob + job.ID})
	one.until("both have a page", func() bool { return one.nodes[n.Name].ID != "" && one.jobs[job.ID].ID != "" })
}
