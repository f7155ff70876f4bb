package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// Decision is a decision as it is kept and shown: with a wall time. At shadows
// the clock reading of the fleet.Decision within, which is zero after decoding.
type Decision struct {
	fleet.Decision
	At time.Time
}

// AppendDecision appends a decision as JSON, which stands in every job's row: what is
// false, zero or empty is left out, and the time, the wall time of d.At, is in
// microseconds. The sentence for people is made when it is read.
func AppendDecision(b []byte, d *fleet.Decision, at time.Time) []byte {
	b = AppendText(append(b, `{"outcome":`...), string(d.Outcome))
	b = strconv.AppendInt(append(b, `,"at":`...), at.UnixMicro(), 10)
	b = AppendText(append(b, `,"rule":`...), string(d.Rule))
	b = append(b, `,"pools":[`...)
	for i := range d.Pools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTally(b, &d.Pools[i])
	}
	b = append(b, ']')
	if d.Node != "" {
		b = AppendText(append(b, `,"node":`...), d.Node)
		b = strconv.AppendInt(append(b, `,"remainingSlots":`...), d.RemainingSlots, 10)
	}
	b = appendTrue(b, `,"tieBreak":true`, d.TieBreak)
	b = appendTrue(b, `,"fallback":true`, d.Fallback)
	b = appendTrue(b, `,"fallbackAllowed":true`, d.FallbackOK)
	b = strconv.AppendInt(append(b, `,"epoch":`...), d.Epoch, 10)
	return append(b, '}')
}

func appendTrue(b []byte, field string, is bool) []byte {
	if is {
		b = append(b, field...)
	}
	return b
}

func appendTally(b []byte, t *fleet.Tally) []byte {
	b = AppendText(append(b, `{"pool":`...), t.Pool)
	b = strconv.AppendInt(append(b, `,"nodes":`...), int64(t.Nodes), 10)
	b = strconv.AppendInt(append(b, `,"candidates":`...), int64(t.Candidates), 10)
	next := `,"rejected":{`
	for r, n := range t.Rejected {
		if n == 0 {
			continue
		}
		b = append(AppendText(append(b, next...), reasonName(t, fleet.Reason(r))), ':')
		b = strconv.AppendInt(b, int64(n), 10)
		next = ","
	}
	if next == "," {
		b = append(b, '}')
	}
	return append(b, '}')
}

type decisionJSON struct {
	Outcome         fleet.Outcome        `json:"outcome"`
	At              decidedAt            `json:"at"`
	Rule            fleet.ResolutionRule `json:"rule"`
	Pools           []tallyJSON          `json:"pools"`
	Node            string               `json:"node"`
	RemainingSlots  int64                `json:"remainingSlots"`
	TieBreak        bool                 `json:"tieBreak"`
	Fallback        bool                 `json:"fallback"`
	FallbackAllowed bool                 `json:"fallbackAllowed"`
	Epoch           int64                `json:"epoch"`
}

type tallyJSON struct {
	Pool       string           `json:"pool"`
	Nodes      int32            `json:"nodes"`
	Candidates int32            `json:"candidates"`
	Rejected   map[string]int32 `json:"rejected"`
}

// decidedAt is read from microseconds since 1970, or from a text, as decisions had it before.
type decidedAt struct{ time.Time }

func (t *decidedAt) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return t.Time.UnmarshalJSON(data)
	}
	micros, err := strconv.ParseInt(string(data), 10, 64)
	t.Time = time.UnixMicro(micros).UTC()
	return err
}

// DecodeDecision reads what AppendDecision wrote.
func DecodeDecision(data []byte) (Decision, error) {
	var j decisionJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Decision{}, fmt.Errorf("read a decision: %w", err)
	}
	d := Decision{At: j.At.Time, Decision: fleet.Decision{
		Outcome: j.Outcome, Rule: j.Rule, Node: j.Node, RemainingSlots: j.RemainingSlots,
		TieBreak: j.TieBreak, Fallback: j.Fallback, FallbackOK: j.FallbackAllowed, Epoch: j.Epoch,
	}}
	for _, t := range j.Pools {
		tally, err := t.tally()
		if err != nil {
			return Decision{}, err
		}
		d.Pools = append(d.Pools, tally)
	}
	return d, nil
}

func (j tallyJSON) tally() (fleet.Tally, error) {
	t := fleet.Tally{Pool: j.Pool, Nodes: j.Nodes, Candidates: j.Candidates}
	for name, n := range j.Rejected {
		kind, of, _ := strings.Cut(name, ":")
		reason, ok := parseReason(kind)
		if !ok {
			return t, fmt.Errorf("read a decision: unknown reason %q", name)
		}
		t.Rejected[reason] = n
		switch reason {
		case fleet.NoResource:
			t.Resource = of
		case fleet.NoMemory:
			t.Domain = of
		}
	}
	return t, nil
}

// reasonName is the reason as it is printed: with what was short, where a name
// goes with it.
func reasonName(t *fleet.Tally, r fleet.Reason) string {
	switch r {
	case fleet.NoResource:
		return r.String() + ":" + t.Resource
	case fleet.NoMemory:
		return r.String() + ":" + t.Domain
	}
	return r.String()
}

func parseReason(name string) (fleet.Reason, bool) {
	for r := range fleet.NumReasons {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}
