package sim

import (
	"fmt"
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// action is what one word of the script does.
type action struct {
	word string
	help string
	do   func(w *World, s *Step)
}

// Actions lists the words of a script with what they mean.
func Actions() (list [][2]string) {
	for _, a := range actions {
		list = append(list, [2]string{a.word, a.help})
	}
	return list
}

var actions []action

func init() {
	actions = append(append(actions, operatorActions...), faultActions...)
}

func actionOf(word string) *action {
	for i := range actions {
		if actions[i].word == word {
			return &actions[i]
		}
	}
	return nil
}

// step plays one line of the script, and plans it again if it says so.
func (w *World) step(n int) {
	s := &w.script[n]
	w.hash.text(s.Do)
	if next := w.now + Time(s.Every); s.Every > 0 && next < Time(s.Until) {
		w.agenda.Add(next, event{kind: evStep, node: -1, n: int64(n)})
	}
	a := actionOf(s.Do)
	a.do(w, s)
}

// lasting lets the end of a fault come, or with 0 leaves it to the healing.
func (w *World) lasting(span Span, end func()) {
	n := len(w.undo)
	w.undo = append(w.undo, end)
	if span > 0 {
		w.after(Time(span), evUndo, func() { w.heal(n) })
	}
}

// heal ends one fault, once.
func (w *World) heal(n int) {
	if end := w.undo[n]; end != nil {
		w.undo[n] = nil
		end()
	}
}

// pick finds the nodes that a step means.
func (w *World) pick(of string) (picked []*node) {
	kind, name, labeled := strings.Cut(of, ":")
	for _, n := range w.nodes {
		rec := &w.store.nodes[n.index].rec
		match := false
		switch {
		case labeled && kind == "zone":
			match = n.group.Zone == name
		case labeled && kind == "pool":
			match = rec.Pool == name
		case labeled && kind == "running":
			match = slices.ContainsFunc(n.runs, func(r run) bool { return w.jobs[number(r.ref.Job)].spec.App == name })
		case strings.HasSuffix(of, "*"):
			match = strings.HasPrefix(n.id, strings.TrimSuffix(of, "*"))
		default:
			match = n.id == of
		}
		if match {
			picked = append(picked, n)
		}
	}
	return picked
}

// tell lets the core hear of a change that the store has, a little later: of two
// changes perhaps in another order than they were made. While it is in doubt the
// reload brings them.
func (w *World) tell(do func(now Time)) {
	process := w.srv.process
	w.after(w.chance.order.between(1, 50), evTold, func() { w.hear(process, do) })
}

func (w *World) hear(process int64, do func(now Time)) {
	s := &w.srv
	if process != s.process {
		return
	}
	if s.paused {
		s.postpone(event{kind: evTold, node: -1, msg: w.net.doing(func() { w.hear(process, do) })})
		return
	}
	if !s.up || s.doubt {
		return
	}
	do(s.clock())
	s.settle()
}

// change alters a node's record in one transaction and tells the core.
func (w *World) change(n *node, alter func(rec *fleet.NodeRecord)) {
	w.changeSaying(n, alter, func(now Time, rec fleet.NodeRecord) { w.srv.core.PutNode(now, rec, w.srv.pending) })
}

func (w *World) changeSaying(n *node, alter func(rec *fleet.NodeRecord), say func(now Time, rec fleet.NodeRecord)) {
	rec := &w.store.nodes[n.index].rec
	alter(rec)
	rec.Version++
	told := *rec
	told.Holds = slices.Clone(rec.Holds)
	for i := range told.Holds {
		told.Holds[i].Until, told.Holds[i].Deadline = w.store.clockOf(told.Holds[i].Until), w.store.clockOf(told.Holds[i].Deadline)
	}
	w.tell(func(now Time) {
		w.told.putNode(n, told)
		say(now, told)
	})
}

func (w *World) hold(s *Step, kind fleet.HoldKind) {
	for _, n := range w.pick(s.Nodes) {
		w.change(n, func(rec *fleet.NodeRecord) {
			h := fleet.Hold{Kind: kind, Owner: fleet.OwnerOperator, Actor: "u:1", Reason: "scenario"}
			if s.Deadline > 0 {
				h.Deadline = w.now + Time(s.Deadline) + w.clock.offset + wallBase
			}
			rec.Holds = append(slices.DeleteFunc(slices.Clone(rec.Holds), sameHold(h)), h)
		})
	}
}

func sameHold(h fleet.Hold) func(fleet.Hold) bool {
	return func(other fleet.Hold) bool { return other.Kind == h.Kind && other.Owner == h.Owner }
}

func (w *World) unhold(nodes []*node) {
	for _, n := range nodes {
		w.change(n, func(rec *fleet.NodeRecord) {
			rec.Holds = slices.DeleteFunc(slices.Clone(rec.Holds), func(h fleet.Hold) bool { return h.Owner == fleet.OwnerOperator })
		})
	}
}

func (w *World) move(nodes []*node, pool string) {
	if w.store.pool(pool) == nil {
		w.fail("scenario", "there is no pool %s", pool)
		return
	}
	for _, n := range nodes {
		w.change(n, func(rec *fleet.NodeRecord) { rec.Pool = pool })
	}
}

func (w *World) bind(app string, pools []string, fallback bool) {
	a := w.store.app(app)
	if a == nil {
		w.fail("scenario", "there is no app %s", app)
		return
	}
	a.Bindings = nil
	a.Version++
	if len(pools) > 0 {
		a.Bindings = []fleet.Binding{{Pools: pools, AllowFallback: fallback}}
	}
	told := *a
	w.tell(func(now Time) {
		w.told.putApp(w.now, told)
		w.srv.core.PutApp(now, told, w.srv.pending)
	})
}

func (w *World) setPool(id string, state fleet.PoolState) {
	p := w.store.pool(id)
	if p == nil {
		w.fail("scenario", "there is no pool %s", id)
		return
	}
	p.State = state
	p.Version++
	told := *p
	w.tell(func(now Time) {
		w.told.putPool(w.now, told)
		w.srv.core.PutPool(now, told, w.srv.pending)
	})
}

// revoke ends a node's membership: its secret is gone, and with it its session.
func (w *World) revoke(nodes []*node) {
	for _, n := range nodes {
		w.changeSaying(n, func(rec *fleet.NodeRecord) { rec.Left = true }, func(now Time, rec fleet.NodeRecord) {
			w.srv.core.RevokeNode(now, rec, "scenario", w.srv.pending)
		})
	}
}

// rejoin lets nodes that left register again: somebody begins their process anew.
func (w *World) rejoin(nodes []*node) {
	for _, n := range nodes {
		if w.store.nodes[n.index].rec.Left {
			w.change(n, func(rec *fleet.NodeRecord) { rec.Left, rec.Identity = false, fleet.Identity{} })
			n.crash(false)
			n.wake(second)
		}
	}
}

// jump sets the backend's wall clock.
func (w *World) jump(by string) error {
	var span Span
	if err := span.UnmarshalText([]byte(strings.TrimLeft(by, "+-"))); err != nil {
		return fmt.Errorf("clock_jump by %q: %w", by, err)
	}
	if strings.HasPrefix(by, "-") {
		span = -span
	}
	w.clock.offset += Time(span)
	return nil
}

// CheckStep says whether a line of a script can be played.
func CheckStep(s *Step) error {
	a := actionOf(s.Do)
	if a == nil {
		return fmt.Errorf("at %s: there is no action %q", s.T, s.Do)
	}
	if s.Do == "clock_jump" && s.Nodes == "" {
		return new(World).jump(s.By)
	}
	return nil
}
