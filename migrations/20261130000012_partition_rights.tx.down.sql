-- Creates what is missing of the days' partitions; makes a table first and
-- attaches it then, which hinders no reader or writer of the others.
CREATE OR REPLACE FUNCTION ensure_partitions(first date, last date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    day date := first;
    parent text;
    part text;
    made integer := 0;
BEGIN
    IF last - first > 60 THEN
        RAISE EXCEPTION 'ensure_partitions: at most 60 days at a time';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('rockpool partitions'));
    WHILE day <= last LOOP
        FOREACH parent IN ARRAY ARRAY['jobs', 'attempts', 'results'] LOOP
            part := parent || '_' || to_char(day, 'YYYYMMDD');
            CONTINUE WHEN to_regclass('public.' || part) IS NOT NULL;
            EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL) WITH (fillfactor = %s)',
                part, parent, CASE parent WHEN 'jobs' THEN 80 ELSE 100 END);
            EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, partition_bound(day), partition_bound(day + 1));
            made := made + 1;
        END LOOP;
        day := day + 1;
    END LOOP;
    RETURN made;
END $$;
