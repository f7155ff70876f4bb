DROP INDEX jobs_by_pool;
DROP TABLE alarms;
DROP TABLE roles;
ALTER TABLE nodes DROP COLUMN max_slots;
ALTER TABLE node_holds DROP COLUMN deadline;
ALTER TABLE pools DROP COLUMN not_ready_pct, DROP COLUMN free_slots, DROP COLUMN queue_wait_ms;
