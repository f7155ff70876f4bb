DROP TABLE placement_nodes;
DROP TABLE placements;
ALTER TABLE jobs DROP COLUMN waits, DROP COLUMN not_before;
ALTER TABLE apps DROP COLUMN max_slots, DROP COLUMN max_placements, DROP COLUMN max_open_jobs, DROP COLUMN weight;
