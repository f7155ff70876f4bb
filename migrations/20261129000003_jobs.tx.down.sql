DROP FUNCTION drop_partitions(date);
DROP FUNCTION ensure_partitions(date, date);
DROP TABLE artifacts;
DROP TABLE idempotency;
DROP TABLE pool_fallbacks;
DROP TABLE results;
DROP TABLE attempts;
DROP TABLE jobs;
DROP FUNCTION partition_bound(date);
