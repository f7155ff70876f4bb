package store

import (
	"rockpool/backend/internal/core"
	"rockpool/shared/ids"
)

// newKey is the idempotency key of a new job or placement.
type newKey struct {
	submitter int64
	key       string
	digest    []byte
	work      ids.JobID
}

var (
	jobKeys       = counted(jobKeysSQL, "count(*)", 4)
	placementKeys = counted(placementKeysSQL, "count(*)", 4)
)

const (
	jobKeysSQL = `
	INSERT INTO idempotency (user_id, key, request_digest, job_id)
	SELECT u.submitter, u.key, u.digest, u.work FROM unnest($1::int8[], $2::text[], $3::bytea[], $4::uuid[]) AS u(submitter, key, digest, work)
	ON CONFLICT (user_id, key) DO NOTHING
	RETURNING job_id`
	placementKeysSQL = `
	INSERT INTO idempotency (user_id, key, request_digest, placement_id)
	SELECT u.submitter, u.key, u.digest, u.work FROM unnest($1::int8[], $2::text[], $3::bytea[], $4::uuid[]) AS u(submitter, key, digest, work)
	ON CONFLICT (user_id, key) DO NOTHING
	RETURNING placement_id`
)

// queueKeys comes before the work: a key that is there already refuses it.
func (r *round) queueKeys(c countedSQL, keyed []newKey) {
	if len(keyed) == 0 {
		return
	}
	var submitter, key, digest, work array
	sent := make([]ids.JobID, 0, len(keyed))
	for _, k := range keyed {
		submitter.int8(k.submitter)
		key.text(k.key)
		digest.bytes(k.digest)
		work.uuid(k.work)
		sent = append(sent, k.work)
	}
	r.expect(c, len(sent), r.refuseMissing(sent, core.RefusedIdempotency), &submitter, &key, &digest, &work)
}
