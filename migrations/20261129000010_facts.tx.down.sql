DROP INDEX audit_pool_changes;
ALTER TABLE node_identities DROP COLUMN rotated_at;
