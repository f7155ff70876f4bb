package sim

// maxShrinks bounds the runs that look for a shorter list of steps.
const maxShrinks = 200

// Run plays a scenario with a seed. Of a failure it looks for the shortest list of
// steps with which it still comes.
func Run(sc *Scenario, seed uint64) *Report {
	w := newWorld(sc, seed, nil)
	w.run()
	r := w.report()
	if r.Failure != nil {
		r.Shortest = shrink(sc, w)
	}
	return r
}

// Check plays a scenario with a seed and gives the first failure, or nil. It looks
// for no shorter list.
func Check(sc *Scenario, seed uint64) *Failure {
	w := newWorld(sc, seed, nil)
	w.run()
	return w.failed
}

// shrink leaves steps out, many at once and then one by one, as long as the same
// rule still fails.
func shrink(sc *Scenario, w *World) (left []string) {
	dropped := map[int]bool{}
	tries := 0
	fails := func() bool {
		tries++
		again := newWorld(sc, w.seed, dropped)
		again.run()
		return again.failed != nil && again.failed.Rule == w.failed.Rule
	}
	for size := (len(w.script) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(w.script) && tries < maxShrinks; from += size {
			chunk := w.droppable(dropped, from, min(from+size, len(w.script)))
			if len(chunk) == 0 {
				continue
			}
			for _, i := range chunk {
				dropped[i] = true
			}
			if !fails() {
				for _, i := range chunk {
					delete(dropped, i)
				}
			}
		}
	}
	for i := range w.script {
		if !dropped[i] {
			left = append(left, w.script[i].String())
		}
	}
	return left
}

// droppable are the steps of a range that are still there. The healing stays.
func (w *World) droppable(dropped map[int]bool, from, to int) (list []int) {
	for i := from; i < to; i++ {
		if !dropped[i] && w.script[i].Do != "heal" {
			list = append(list, i)
		}
	}
	return list
}
