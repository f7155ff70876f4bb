-- When a job named the file last, as an input or an output; null: none ever did.
-- What was uploaded before this is taken for named now: nobody knows.

ALTER TABLE artifacts ADD COLUMN used_at timestamptz;
UPDATE artifacts SET used_at = now();
