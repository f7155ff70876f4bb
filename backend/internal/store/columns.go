package store

import (
	"fmt"
	"slices"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// jobColumns are the columns that a job's insert and its update have in common.
type jobColumns struct {
	id, state, cause, detail, attempt, counted, outcome, node, pool, fallback, decision, assigned, started, ended, cancelBy,
	notBefore, waits array
}

// add appends a row. keepDecision: it is the one that stands in the row already,
// and NULL is sent.
func (c *jobColumns) add(w *Writer, id ids.JobID, r *core.JobRow, keepDecision bool) {
	c.id.uuid(id)
	c.state.text(storedState(r.State))
	c.cause.text(string(r.Cause))
	c.detail.text(r.Detail)
	c.attempt.int4(r.Attempt)
	c.counted.int4(r.Counted)
	c.outcome.text(r.Outcome.String())
	c.node.text(r.Node)
	c.pool.text(r.Pool)
	c.fallback.bool(r.Fallback)
	if keepDecision {
		c.decision.null()
	} else {
		w.decision(&c.decision, r.Decision)
	}
	w.stamp(&c.assigned, r.AssignedAt)
	w.stamp(&c.started, r.StartedAt)
	w.stamp(&c.ended, r.EndedAt)
	c.cancelBy.text(r.CancelBy)
	w.stamp(&c.notBefore, r.NotBefore)
	if r.Waits == (fleet.WaitLedger{}) {
		c.waits.null()
	} else {
		c.waits.end(record.AppendWaits(c.waits.begin(), &r.Waits))
	}
}

func (c *jobColumns) columns() []*array {
	return []*array{
		&c.id, &c.state, &c.cause, &c.detail, &c.attempt, &c.counted, &c.outcome, &c.node, &c.pool, &c.fallback, &c.decision,
		&c.assigned, &c.started, &c.ended, &c.cancelBy, &c.notBefore, &c.waits,
	}
}

// insertColumns are the parameters of insertJobs.
type insertColumns struct {
	jobColumns
	app, owner, submitter, submitted, spec array
}

func (c *insertColumns) columns() []*array {
	return append(c.jobColumns.columns(), &c.app, &c.owner, &c.submitter, &c.submitted, &c.spec)
}

// updateColumns are the parameters of updateJobs; that for many rows has two more.
type updateColumns struct {
	jobColumns
	fromState, fromAttempt                    array
	exitCode, output, digest, logBytes, apart array
}

func (c *updateColumns) columns() []*array {
	return append(c.jobColumns.columns(), &c.fromState, &c.fromAttempt, &c.exitCode, &c.output, &c.digest, &c.logBytes, &c.apart)
}

// empty readies columns for the next batch; they keep their memory.
func empty(columns []*array) {
	for _, c := range columns {
		*c = array{terse: true, body: c.body[:0]}
	}
}

// column is how a statement names a value of its rows.
type column struct{ name, kind string }

// commonColumns are jobColumns, in their order.
var commonColumns = []column{
	{"id", "uuid"}, {"state", "text"}, {"cause", "text"}, {"detail", "text"}, {"attempt", "int4"}, {"counted", "int4"}, {"outcome", "text"},
	{"node_id", "text"}, {"pool_id", "text"}, {"fallback", "bool"}, {"decision", "text"}, {"assigned_at", "timestamptz"},
	{"started_at", "timestamptz"}, {"ended_at", "timestamptz"}, {"cancel_by", "text"}, {"not_before", "timestamptz"}, {"waits", "text"},
}

// forms is a statement about rows in both forms in which these reach it. The form
// of one row has plain parameters, which PostgreSQL puts where the row's values are
// used: it starts in a third of the time that it takes to take arrays apart.
type forms struct{ one, many countedSQL }

// inForms makes both. sql is told from which FROM item u to read the rows, and how to
// narrow down where to look for them, for which narrow names more parameters; how
// counts what comes back; empty: nothing does, it fails or does all.
func inForms(columns []column, sql func(rows, narrowed string) string, narrow string, more int, how string) forms {
	return forms{
		one:  counted(sql(plain(columns), ""), how, len(columns)),
		many: counted(sql(unnested(columns), narrow), how, len(columns)+more),
	}
}

// take gives the form and the parameters for the rows in these columns.
func (f *forms) take(columns []*array, more ...any) (countedSQL, []any) {
	if columns[0].n == 1 {
		return f.one, params(columns)
	}
	return f.many, params(columns, more...)
}

// plain reads plain parameters, from $1 on, as one row.
func plain(columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = fmt.Sprintf("$%d::%s AS %s", i+1, c.kind, c.name)
	}
	return "(SELECT " + strings.Join(list, ", ") + ") u"
}

// unnested reads terse arrays, the parameters from $1 on, as rows: a FROM item u
// with a column each. Functions in a list of results give row by row what they have;
// as a FROM item each would fill a table of its own first.
func unnested(columns []column) string {
	inner, outer := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		inner[i] = fmt.Sprintf("unnest($%d::%s[]) AS %s", i+1, c.kind, c.name)
		outer[i] = fmt.Sprintf("coalesce(e.%[3]s, ($%[1]d::%[2]s[])[0]) AS %[3]s", i+1, c.kind, c.name)
	}
	return "(SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(inner, ", ") + ") e) u"
}

// named lists columns, each in that form.
func named(columns []column, form string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = strings.ReplaceAll(form, "*", c.name)
	}
	return strings.Join(list, ", ")
}

func params(columns []*array, more ...any) []any {
	room := 0
	for _, c := range slices.Backward(columns) {
		room += arrayHeader + len(c.body)
		c.room = room
	}
	list := make([]any, 0, len(columns)+len(more))
	for _, c := range columns {
		list = append(list, c)
	}
	return append(list, more...)
}

// stamp appends the wall time of a core time; 0 is NULL.
func (w *Writer) stamp(a *array, t fleet.Time) {
	if t == 0 {
		a.null()
		return
	}
	a.time(w.at(t))
}

// decision appends a decision as JSON; nil is NULL.
func (w *Writer) decision(a *array, d *fleet.Decision) {
	if d == nil {
		a.null()
		return
	}
	a.end(record.AppendDecision(a.begin(), d, w.at(d.At)))
}
