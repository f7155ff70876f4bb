package sim

import "fmt"

// checkPoint notes a counter at an expectation's Since, or looks at it at its At.
func (w *World) checkPoint(i int, look bool) {
	e := &w.sc.Expect[i]
	if !look {
		w.base[i] = w.value(e.Counter)
		return
	}
	w.expect(i)
}

// checkExpectations looks at those that hold at the end.
func (w *World) checkExpectations() {
	for i := range w.sc.Expect {
		if w.sc.Expect[i].At == 0 {
			w.expect(i)
		}
	}
}

func (w *World) expect(i int) {
	e := &w.sc.Expect[i]
	got := w.value(e.Counter) - w.base[i]
	w.found[i] = got
	if want := e.wants(w); !e.holds(w, got) {
		why := ""
		if e.Why != "" {
			why = ": " + e.Why
		}
		w.fail("expect", "%s is %d, expected %s%s", e.Counter, got, want, why)
	}
}

func (e *Expect) holds(w *World, got int64) bool {
	switch {
	case e.Is != nil && got != *e.Is, e.Min != nil && got < *e.Min, e.Max != nil && got > *e.Max:
		return false
	case e.Same != "":
		return got == w.value(e.Same)
	}
	return true
}

func (e *Expect) wants(w *World) (text string) {
	join := func(s string) {
		if text != "" {
			text += " and "
		}
		text += s
	}
	if e.Is != nil {
		join(fmt.Sprint(*e.Is))
	}
	if e.Min != nil {
		join(fmt.Sprintf("at least %d", *e.Min))
	}
	if e.Max != nil {
		join(fmt.Sprintf("at most %d", *e.Max))
	}
	if e.Same != "" {
		join(fmt.Sprintf("as %s (%d)", e.Same, w.value(e.Same)))
	}
	return text
}

// CheckExpect says whether an expectation can be looked at.
func CheckExpect(e *Expect) error {
	if c, _, ok := findCounter(e.Counter); !ok || c == nil {
		return fmt.Errorf("expect: there is no counter %q", e.Counter)
	}
	if _, _, ok := findCounter(e.Same); e.Same != "" && !ok {
		return fmt.Errorf("expect %s: there is no counter %q", e.Counter, e.Same)
	}
	if e.Is == nil && e.Min == nil && e.Max == nil && e.Same == "" {
		return fmt.Errorf("expect %s: say is, min, max or same", e.Counter)
	}
	return nil
}
