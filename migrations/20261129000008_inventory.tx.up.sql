-- What a node says that it has: the newest, whole, as its sessions told it.

ALTER TABLE node_reports ADD COLUMN inventory jsonb, ADD COLUMN inventory_at timestamptz,
    ADD CONSTRAINT node_reports_inventory CHECK ((inventory IS NULL) = (inventory_at IS NULL));
