package api

import (
	"strconv"

	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// errNoAttempt refuses a node's upload that is no output of anything.
var errNoAttempt = fleet.Errorf(fleet.CodeForbidden, "a node uploads outputs of an attempt that it holds: PUT with ?job and ?attempt")

// putOutput takes a file from a node as an output of an attempt that it holds.
// Whether it holds it is asked before the bytes are read, so that a stranger
// costs no disk, and once more by the statement that notes the file.
func (a *API) putOutput(c *call, digest artifact.Digest) error {
	job, attempt, err := c.attempt()
	if err != nil {
		return err
	}
	node := c.who.Node.ID
	if err := a.store.HoldsAttempt(c.ctx(), node, job, attempt); err != nil {
		return err
	}
	return a.receive(c, digest, func(c *call, row record.Artifact) error {
		return a.store.PutOutput(c.ctx(), node, job, attempt, row)
	})
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
