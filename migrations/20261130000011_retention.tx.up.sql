-- Retention hinders nobody for long, and nobody hinders it for ever.

-- Drops the partitions of the oldest day before the given one that has no open
-- job, and returns that day; no row: there is none. One day a transaction: what it
-- locks it lets go before the next one waits.
--
-- Vacuum works on a partition for minutes, and one of autovacuum is told to stop
-- only once it has stood in somebody's way for deadlock_timeout. So that is waited
-- for first, longer than that, with locks that stand in no reader's or writer's way:
-- changing autovacuum's settings locks a table and, which LOCK TABLE can't, its
-- TOAST table against vacuum alone. A reader or writer of the parents may lock each
-- partition, whatever day it asks for: to wait for more than that on a partition
-- would have them queue behind.
--
-- Then come the parents, as everybody else locks them, jobs first. Whoever asks for
-- them waits meanwhile: half a second at most for jobs, and a tenth for each of what
-- follows, which is held only by who came by another way. That is less than
-- deadlock_timeout: it is never the others who are broken off. Who finds a table in
-- use tries again later.
CREATE OR REPLACE FUNCTION drop_partitions(before date) RETURNS SETOF date
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '0' AS $$
DECLARE
    day date;
    parent text;
    part text;
    open boolean;
BEGIN
    PERFORM set_config('lock_timeout', (setting::integer + 2000)::text, true) FROM pg_settings WHERE name = 'deadlock_timeout';
    PERFORM pg_advisory_xact_lock(hashtext('rockpool retention'));
    FOR day IN
        SELECT to_date(right(c.relname, 8), 'YYYYMMDD') FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.jobs'::regclass ORDER BY 1
    LOOP
        EXIT WHEN day >= before;
        part := to_char(day, '_YYYYMMDD');
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM public.%I WHERE ended_at IS NULL)', 'jobs' || part) INTO open;
        CONTINUE WHEN open;
        FOREACH parent IN ARRAY ARRAY['jobs', 'attempts', 'results'] LOOP
            EXECUTE format('ALTER TABLE public.%I SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)', parent || part);
        END LOOP;

        SET LOCAL lock_timeout = '500ms';
        PERFORM pg_advisory_xact_lock(hashtext('rockpool partitions'));
        LOCK TABLE ONLY public.jobs IN ACCESS EXCLUSIVE MODE;
        SET LOCAL lock_timeout = '100ms';
        LOCK TABLE ONLY public.attempts, ONLY public.results IN ACCESS EXCLUSIVE MODE;
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM public.%I WHERE ended_at IS NULL)', 'jobs' || part) INTO open;
        IF NOT open THEN -- it may have been retried meanwhile
            EXECUTE format('DROP TABLE public.%I, public.%I, public.%I', 'jobs' || part, 'attempts' || part, 'results' || part);
            RETURN NEXT day;
        END IF;
        RETURN;
    END LOOP;
END $$;
