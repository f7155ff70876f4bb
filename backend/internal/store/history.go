package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
)

// isolationTolerance is how far the database's clock, which dates changes, and the
// server's, which dates assignments, may be apart, and how long a change may take
// to reach the one that decides.
const isolationTolerance = 2 * time.Second

// history is where nodes were and what apps were bound to, by the audit chain.
type history struct {
	seq   int64 // up to which entries were read
	nodes map[string]*timeline[string]
	apps  map[string]*timeline[[]fleet.Binding]
	own   *holdings
}

func newHistory() *history {
	return &history{nodes: map[string]*timeline[string]{}, apps: map[string]*timeline[[]fleet.Binding]{}, own: newHoldings()}
}

// timeline is what something was, from one moment to the next.
type timeline[T any] struct {
	first []T // before the first step; empty: it was not there
	steps []step[T]
}

type step[T any] struct {
	at time.Time
	is T
}

// around gives everything that was so at that time, give or take the tolerance.
func (l *timeline[T]) around(at time.Time) []T {
	from, to := at.Add(-isolationTolerance), at.Add(isolationTolerance)
	begun := slices.IndexFunc(l.steps, func(s step[T]) bool { return s.at.After(from) })
	if begun < 0 {
		begun = len(l.steps)
	}
	was := slices.Clone(l.first)
	if begun > 0 {
		was = []T{l.steps[begun-1].is}
	}
	for _, s := range l.steps[begun:] {
		if !s.at.After(to) {
			was = append(was, s.is)
		}
	}
	return was
}

// throughout reports that it was so all the time around then.
func (l *timeline[T]) throughout(at time.Time, so func(T) bool) bool {
	from := at.Add(-isolationTolerance)
	if len(l.steps) == 0 || l.steps[0].at.After(from) {
		return false
	}
	return !slices.ContainsFunc(l.around(at), func(was T) bool { return !so(was) })
}

// poolsOf gives the pools that the node was in around then.
func (h *history) poolsOf(node string, at time.Time) []string {
	if l := h.nodes[node]; l != nil {
		return l.around(at)
	}
	return nil
}

// bindingsOf gives the bindings that the app had around then, at least one list.
func (h *history) bindingsOf(app string, at time.Time) [][]fleet.Binding {
	if l := h.apps[app]; l != nil {
		return l.around(at)
	}
	return [][]fleet.Binding{nil}
}

// moved is what entries about nodes and bindings say.
type moved struct {
	Owner                  int64
	Pool                   string
	Role                   string
	Pools                  []string
	AllowFallbackToDefault bool
}

// read takes in what was entered since the last time.
func (h *history) read(ctx context.Context, db *DB) error {
	if h.seq == 0 {
		if err := h.readPresent(ctx, db); err != nil {
			return err
		}
	}
	var head int64
	if err := db.pool.QueryRow(ctx, "SELECT seq FROM audit_head").Scan(&head); err != nil {
		return err
	}
	rows, err := db.pool.Query(ctx, `SELECT seq, at, object, action, coalesce(before::text, '{}'), coalesce(after::text, '{}') FROM audit_entries
		WHERE seq > $1 AND seq <= $2 AND (object LIKE 'node:%' AND after ->> 'pool' IS NOT NULL
			OR action IN ('binding_set', 'binding_deleted', 'node_left', 'node_revoked'))
		ORDER BY seq`, h.seq, head)
	if err != nil {
		return err
	}
	h.seq = head
	var seq int64
	var at time.Time
	var object, action string
	var before, after []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &at, &object, &action, &before, &after}, func() error {
		var was, is moved
		if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
			return fmt.Errorf("audit entry %d: %w", seq, err)
		}
		if node, ok := strings.CutPrefix(object, "node:"); ok {
			h.own.entered(node, action, at, is)
			if is.Pool != "" {
				h.nodeMoved(node, at, was.Pool, is.Pool)
			}
		} else {
			h.appBound(strings.TrimPrefix(object, "app:"), at, was, is, action == "binding_deleted")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.own.readLeft(ctx, db)
}

// readPresent knows the nodes of before there were entries: those without any are
// where they always were.
func (h *history) readPresent(ctx context.Context, db *DB) error {
	rows, err := db.pool.Query(ctx, `SELECT id, coalesce(pool_id, 'default') FROM nodes n
		WHERE NOT EXISTS (SELECT 1 FROM audit_entries WHERE object = 'node:' || n.id AND after ->> 'pool' IS NOT NULL)`)
	if err != nil {
		return err
	}
	var node, pool string
	_, err = pgx.ForEachRow(rows, []any{&node, &pool}, func() error {
		h.nodes[node] = &timeline[string]{first: []string{pool}}
		return nil
	})
	return err
}

func (h *history) nodeMoved(node string, at time.Time, from, to string) {
	l := h.nodes[node]
	if l == nil {
		l = &timeline[string]{}
		if from != "" {
			l.first = []string{from}
		}
		h.nodes[node] = l
	}
	l.steps = append(l.steps, step[string]{at, to})
}

func (h *history) appBound(app string, at time.Time, was, is moved, gone bool) {
	l := h.apps[app]
	if l == nil {
		l = &timeline[[]fleet.Binding]{first: [][]fleet.Binding{nil}}
		h.apps[app] = l
	}
	var bindings []fleet.Binding
	if n := len(l.steps); n > 0 {
		bindings = slices.Clone(l.steps[n-1].is)
	}
	role := is.Role
	if gone {
		role = was.Role
	}
	bindings = slices.DeleteFunc(bindings, func(b fleet.Binding) bool { return b.Role == role })
	if !gone {
		bindings = append(bindings, fleet.Binding{Role: role, Pools: is.Pools, AllowFallback: is.AllowFallbackToDefault})
	}
	l.steps = append(l.steps, step[[]fleet.Binding]{at, bindings})
}
