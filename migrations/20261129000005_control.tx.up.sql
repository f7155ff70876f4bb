-- What operators steer with: thresholds of pools, drains with a deadline, roles as
-- data, alarms, and the most that a node may bring.

ALTER TABLE pools
    ADD COLUMN queue_wait_ms bigint  NOT NULL DEFAULT 60000 CHECK (queue_wait_ms >= 0),
    ADD COLUMN free_slots    bigint  NOT NULL DEFAULT 0 CHECK (free_slots >= 0),
    ADD COLUMN not_ready_pct integer NOT NULL DEFAULT 50 CHECK (not_ready_pct BETWEEN 0 AND 100);

-- until ends a hold by itself; deadline is a drain's: what runs then is canceled.
ALTER TABLE node_holds ADD COLUMN deadline timestamptz;

-- max_slots is what an operator allows; NULL: what the license does.
ALTER TABLE nodes ADD COLUMN max_slots bigint CHECK (max_slots >= 0);

CREATE TABLE roles (
    name       text COLLATE "C" PRIMARY KEY,
    built_in   boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO roles (name, built_in)
    SELECT unnest(ARRAY['edge', 'forward', 'origin', 'recorder', 'standalone', 'worker']), true;
-- Roles that were in use before there was this table stay.
INSERT INTO roles (name)
    SELECT role FROM nodes UNION SELECT unnest(roles) FROM licenses UNION SELECT role FROM app_pool_bindings WHERE role <> ''
    ON CONFLICT DO NOTHING;

-- Who sees some pools only reads a stretch of this. A job comes into it when it
-- ends, with the update that goes into the other indexes too.
CREATE INDEX jobs_by_pool ON jobs (pool_id, id) WHERE ended_at IS NOT NULL;

-- One row from an alarm's raising to its end, and for ever after. Names of pools,
-- apps and nodes are history: they reference nothing.
CREATE TABLE alarms (
    id             bigint PRIMARY KEY,
    kind           text COLLATE "C" NOT NULL,
    role           text COLLATE "C" NOT NULL,
    pool_id        text COLLATE "C" NOT NULL,
    app_id         text COLLATE "C" NOT NULL,
    node_id        text COLLATE "C" NOT NULL,
    count          bigint NOT NULL CHECK (count > 0),
    raised_at      timestamptz NOT NULL,
    last_at        timestamptz NOT NULL,
    resolved_at    timestamptz,
    waiting        uuid[] NOT NULL,
    waiting_now    bigint NOT NULL CHECK (waiting_now >= 0),
    detail         text NOT NULL,
    acked_by       text NOT NULL DEFAULT '',
    acked_at       timestamptz,
    silenced_by    text NOT NULL DEFAULT '',
    silenced_until timestamptz
);
CREATE UNIQUE INDEX alarms_lasting ON alarms (kind, role, pool_id, app_id, node_id) WHERE resolved_at IS NULL;
CREATE INDEX alarms_silenced ON alarms (silenced_until) WHERE silenced_until IS NOT NULL;
