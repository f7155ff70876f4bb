-- Work. jobs, attempts and results are partitioned by job id, a UUIDv7, hence by
-- the day of the job's making: retention drops partitions. There is no default
-- partition: ensure_partitions keeps some days ahead.

-- Lean: the happy path of a job is one insert and one update of its row. The
-- current attempt and its decision stand here; names of apps, nodes and pools
-- are history, so that they reference nothing.
CREATE TABLE jobs (
    id            uuid NOT NULL,
    owner_id      bigint NOT NULL,       -- the app's owner at submit; 0: none
    submitter_id  bigint NOT NULL,
    submitted_at  timestamptz NOT NULL,
    assigned_at   timestamptz,           -- of the current attempt
    started_at    timestamptz,
    ended_at      timestamptz,
    exit_code     bigint,
    log_bytes     bigint NOT NULL DEFAULT 0,
    attempt       integer NOT NULL,
    counted       integer NOT NULL,
    fallback      boolean NOT NULL,
    result_apart  boolean NOT NULL DEFAULT false,   -- results has output, outputs or log
    app_id        text COLLATE "C" NOT NULL,
    state         text COLLATE "C" NOT NULL,
    cause         text COLLATE "C" NOT NULL,
    detail        text NOT NULL,
    outcome       text COLLATE "C" NOT NULL,
    node_id       text COLLATE "C" NOT NULL,
    pool_id       text COLLATE "C" NOT NULL,
    cancel_by     text NOT NULL,
    result_digest bytea,
    spec          text NOT NULL,         -- JSON, as decision: written by the server
    decision      text,                  --   itself, so that nothing need check it
    output        json,
    PRIMARY KEY (id),
    CONSTRAINT jobs_ended CHECK ((ended_at IS NULL) = (state IN ('queued', 'offered', 'canceling')))
) PARTITION BY RANGE (id);
CREATE INDEX jobs_by_app ON jobs (app_id, id);
-- Recovery reads all of it, a node's running jobs are one stretch of it.
CREATE INDEX jobs_open ON jobs (node_id, id) WHERE ended_at IS NULL;

-- Superseded attempts, with their decisions.
CREATE TABLE attempts (
    job_id      uuid NOT NULL,
    attempt     integer NOT NULL,
    fallback    boolean NOT NULL,
    node_id     text COLLATE "C" NOT NULL,
    pool_id     text COLLATE "C" NOT NULL,
    outcome     text COLLATE "C" NOT NULL,
    cause       text COLLATE "C" NOT NULL,
    assigned_at timestamptz,
    started_at  timestamptz,
    ended_at    timestamptz,
    decision    text,
    PRIMARY KEY (job_id, attempt)
) PARTITION BY RANGE (job_id);

-- The one accepted result of a job, where it is too large for the job's row.
CREATE TABLE results (
    job_id   uuid NOT NULL,
    attempt  integer NOT NULL,
    output   json,
    outputs  json,
    log_head bytea,
    log_tail bytea,
    PRIMARY KEY (job_id)
) PARTITION BY RANGE (job_id);

-- Work that ran in default although it resolved elsewhere.
CREATE TABLE pool_fallbacks (
    job_id     uuid NOT NULL,
    attempt    integer NOT NULL,
    app_id     text COLLATE "C" NOT NULL,
    role       text COLLATE "C" NOT NULL,
    from_pools text[] NOT NULL,
    node_id    text COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (job_id, attempt)
);

CREATE TABLE idempotency (
    user_id        bigint NOT NULL,
    key            text COLLATE "C" NOT NULL,
    request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
    job_id         uuid NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_by_age ON idempotency USING brin (created_at);

-- Files by content; the bytes are on the server's disk.
CREATE TABLE artifacts (
    owner_id   bigint NOT NULL,
    digest     text COLLATE "C" NOT NULL,
    size       bigint NOT NULL CHECK (size >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner_id, digest)
);
CREATE INDEX artifacts_by_digest ON artifacts (digest);

-- The first id that a job made on that day (UTC) can have.
CREATE FUNCTION partition_bound(day date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT rpad(lpad(to_hex((day - date '1970-01-01')::bigint * 86400000), 12, '0'), 32, '0')::uuid
$$;

-- Creates what is missing of the days' partitions; makes a table first and
-- attaches it then, which hinders no reader or writer of the others.
CREATE FUNCTION ensure_partitions(first date, last date) RETURNS integer
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
REVOKE EXECUTE ON FUNCTION ensure_partitions(date, date) FROM PUBLIC;

-- Drops the partitions of days before the given one, oldest first; a day with
-- open jobs stays. Returns the days that are gone. The parents are locked first,
-- as everybody else does, and only for as long as looking and dropping takes; who
-- finds them busy tries again later.
CREATE FUNCTION drop_partitions(before date) RETURNS SETOF date
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
REVOKE EXECUTE ON FUNCTION drop_partitions(date) FROM PUBLIC;
