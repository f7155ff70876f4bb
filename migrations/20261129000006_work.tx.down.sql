DELETE FROM idempotency WHERE job_id IS NULL;
ALTER TABLE idempotency
    DROP COLUMN body, DROP COLUMN location, DROP COLUMN status, DROP COLUMN acted, DROP COLUMN claimed_at, DROP COLUMN claim,
    DROP COLUMN placement_id, ALTER COLUMN job_id SET NOT NULL;
DROP TABLE placement_nodes;
DROP TABLE placements;
ALTER TABLE jobs DROP COLUMN waits, DROP COLUMN not_before;
ALTER TABLE apps DROP COLUMN max_slots, DROP COLUMN max_placements, DROP COLUMN max_open_jobs, DROP COLUMN weight;
