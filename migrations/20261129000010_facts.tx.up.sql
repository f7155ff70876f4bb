-- When a node's secret was changed last; NULL: it is the one that it registered with.
ALTER TABLE node_identities ADD COLUMN rotated_at timestamptz;

-- Who changed a pool last is found without walking the chain.
CREATE INDEX audit_pool_changes ON audit_entries (object, seq) WHERE action = 'pool_changed';
