package api

import (
	"fmt"
	"strconv"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// errNoAttempt refuses a node's upload that is no output of anything.
var errNoAttempt = fleet.Errorf(fleet.CodeForbidden, "a node uploads outputs of an attempt that it holds: with ?job and ?attempt")

// nodeSender is a node that uploads an output of an attempt that it holds. Whether
// it holds it is asked before the bytes are read, so that a stranger costs no disk,
// and once more by the statement that notes the file. What broke off in one attempt
// does not go on in another.
func (a *API) nodeSender(c *call) (sender, error) {
	job, attempt, err := c.attempt()
	if err != nil {
		return sender{}, err
	}
	node := c.who.Node.ID
	owner, err := a.store.HoldsAttempt(c.ctx(), node, job, attempt)
	if err != nil {
		return sender{}, err
	}
	name := fmt.Sprintf("node %s %s %d", node, job, attempt)
	return sender{name: name, owner: owner, note: func(c *call, row record.Artifact) error {
		return a.store.PutOutput(c.ctx(), node, job, attempt, row)
	}}, nil
}

// attempt is what a node says that it holds.
func (c *call) attempt() (ids.JobID, int32, error) {
	if c.QueryParam("job") == "" || c.QueryParam("attempt") == "" {
		return ids.JobID{}, 0, errNoAttempt
	}
	job, err := ids.ParseJobID(c.QueryParam("job"))
	if err != nil {
		return job, 0, badRequest("job: %v", err)
	}
	attempt, err := strconv.ParseInt(c.QueryParam("attempt"), 10, 32)
	if err != nil || attempt < 1 {
		return job, 0, badRequest("attempt must be a number from 1 on")
	}
	return job, int32(attempt), nil
}
