ALTER TABLE artifacts DROP COLUMN used_at;
