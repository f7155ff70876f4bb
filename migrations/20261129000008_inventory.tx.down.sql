ALTER TABLE node_reports DROP CONSTRAINT node_reports_inventory, DROP COLUMN inventory_at, DROP COLUMN inventory;
