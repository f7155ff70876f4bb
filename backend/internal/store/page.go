package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// limit is a page's size within its bounds.
func limit(p record.Page) int64 {
	if p.Limit <= 0 {
		return record.DefaultPage
	}
	return int64(min(p.Limit, record.MaxPage))
}

var errPage = errors.New("not a position that a list gave out")

func badPage(p record.Page) error {
	return &fleet.Error{Code: fleet.CodeBadRequest, Detail: "the page token is none that this list gave out", Cause: fmt.Errorf("%w: %q", errPage, p.After)}
}

// numberAfter reads a page's position in a list by number; 0: from its begin.
func numberAfter(p record.Page) (int64, error) {
	if p.After == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(p.After, 10, 64)
	if err != nil || n <= 0 {
		return 0, badPage(p)
	}
	return n, nil
}

// query is SQL under construction; arg adds a parameter and gives its name.
type query struct {
	sql  string
	args []any
}

func (q *query) arg(v any) string {
	q.args = append(q.args, v)
	return "$" + strconv.Itoa(len(q.args))
}

// checkVersion is precondition_failed when a record has another version than the
// caller saw; ifVersion nil: any will do.
func checkVersion(what string, version int64, ifVersion *int64) error {
	if ifVersion != nil && *ifVersion != version {
		return fleet.Errorf(fleet.CodePreconditionFail, "the "+what+"'s record has version "+strconv.FormatInt(version, 10)+": read it again")
	}
	return nil
}

// scoped is the condition that a row is within a scope that is not everything;
// owner and pool are expressions of the row's.
func (q *query) scoped(s record.Scope, owner, pool string) string {
	var either []string
	if s.Owner != nil {
		either = append(either, owner+" = "+q.arg(*s.Owner))
	}
	if len(s.Pools) > 0 || s.Owner == nil {
		either = append(either, pool+" = ANY ("+q.arg(s.Pools)+")")
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// utc is a nullable time as it is shown.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
