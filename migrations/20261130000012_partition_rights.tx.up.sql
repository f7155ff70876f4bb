-- Who may write jobs may write a day's jobs by the name of their partition: a
-- statement that names jobs locks and opens each of the days' first.

CREATE OR REPLACE FUNCTION ensure_partitions(first date, last date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    day date := first;
    parent text;
    part text;
    held record;
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
            FOR held IN
                SELECT r.rolname, string_agg(a.privilege_type, ', ') AS rights
                FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
                WHERE parent = 'jobs' AND c.oid = 'public.jobs'::regclass AND a.grantee <> c.relowner GROUP BY r.rolname
            LOOP
                EXECUTE format('GRANT %s ON public.%I TO %I', held.rights, part, held.rolname);
            END LOOP;
            EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, partition_bound(day), partition_bound(day + 1));
            made := made + 1;
        END LOOP;
        day := day + 1;
    END LOOP;
    RETURN made;
END $$;
