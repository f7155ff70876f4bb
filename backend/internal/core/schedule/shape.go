package schedule

import (
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// shape is what equal requests have in common: a node that can't take one of
// them can take none.
type shape struct {
	request Request
	waiting int
	key     Kind
}

// Kind is equal for requests that ask for the same.
type Kind struct {
	role, runner, backend, region string
	pool                          string // of canary jobs
	slots                         int64
	more                          string // demands beyond slots
}

// KindOf gives the request's.
func KindOf(r *Request) Kind {
	k := Kind{role: r.Role, runner: r.Runner, backend: r.Backend, region: r.Region, pool: r.Pool, slots: r.Demand.Slots}
	if !r.Demand.Plain() {
		k.more = spell(r.Demand)
	}
	return k
}

func (q *Queue) shapeOf(r *Request) *shape {
	key := KindOf(r)
	s := q.shapes[key]
	if s == nil {
		s = &shape{request: *r, key: key}
		q.shapes[key] = s
	}
	return s
}

// spell writes the demands beyond slots so that equal ones read equal.
func spell(v *fleet.Vector) string {
	var b strings.Builder
	for _, list := range [][]fleet.Quantity{v.Resources, v.Memory} {
		for _, q := range list {
			b.WriteString(q.Name)
			b.WriteByte('=')
			b.WriteString(strconv.FormatInt(q.Amount, 10))
			b.WriteByte(',')
		}
		b.WriteByte(';')
	}
	return b.String()
}
