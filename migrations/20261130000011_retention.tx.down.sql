-- Drops the partitions of days before the given one, oldest first; a day with
-- open jobs stays. Returns the days that are gone. The parents are locked first,
-- as everybody else does, and only for as long as looking and dropping takes; who
-- finds them busy tries again later.
CREATE OR REPLACE FUNCTION drop_partitions(before date) RETURNS SETOF date
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    day date;
    suffix text;
    open boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('rockpool partitions'));
    FOR day IN
        SELECT to_date(right(c.relname, 8), 'YYYYMMDD') FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.jobs'::regclass ORDER BY 1
    LOOP
        EXIT WHEN day >= before;
        LOCK TABLE ONLY public.jobs, ONLY public.attempts, ONLY public.results IN ACCESS EXCLUSIVE MODE;
        suffix := to_char(day, 'YYYYMMDD');
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM public.%I WHERE ended_at IS NULL)', 'jobs_' || suffix) INTO open;
        CONTINUE WHEN open;
        EXECUTE format('DROP TABLE public.%I, public.%I, public.%I', 'jobs_' || suffix, 'attempts_' || suffix, 'results_' || suffix);
        RETURN NEXT day;
    END LOOP;
END $$;
