-- The fleet: apps and their bindings, licenses, nodes, and the shard's lease.

CREATE TABLE apps (
    id         text COLLATE "C" PRIMARY KEY,
    owner_id   bigint REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    version    bigint NOT NULL DEFAULT 1
);
CREATE INDEX apps_by_owner ON apps (owner_id, id);

CREATE TABLE app_pool_bindings (
    app_id         text COLLATE "C" NOT NULL REFERENCES apps,
    role           text COLLATE "C" NOT NULL,
    pool_ids       text[] NOT NULL CHECK (cardinality(pool_ids) BETWEEN 1 AND 8),
    allow_fallback boolean NOT NULL,
    PRIMARY KEY (app_id, role),
    CHECK (NOT 'unassigned' = ANY (pool_ids))
);

CREATE TABLE licenses (
    id         text COLLATE "C" PRIMARY KEY,
    user_id    bigint NOT NULL REFERENCES users,
    roles      text[] NOT NULL CHECK (cardinality(roles) >= 1),
    nodes      bigint NOT NULL CHECK (nodes >= 0),
    max_slots  bigint NOT NULL CHECK (max_slots >= 0),
    code_sum   bytea NOT NULL UNIQUE CHECK (length(code_sum) = 32),
    expires_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX licenses_by_user ON licenses (user_id, id);

-- The credential record, and what the scheduler's guard needs: narrow, because
-- every batch of work rewrites the rows of its nodes. No index has a column
-- that reservations change, so that these updates stay within the page.
-- slots is the node's claim; total_slots is greatest(slots, reserved_slots): a
-- node whose claim shrank below what runs keeps it until that ends.
CREATE TABLE nodes (
    id             text COLLATE "C" PRIMARY KEY,
    owner_id       bigint REFERENCES users,
    pool_id        text COLLATE "C" REFERENCES pools,   -- NULL reads as default
    role           text COLLATE "C" NOT NULL,
    license_id     text COLLATE "C" REFERENCES licenses,
    secret_sum     bytea NOT NULL UNIQUE CHECK (length(secret_sum) = 32),
    boot_id        text NOT NULL DEFAULT '',
    epoch          bigint NOT NULL DEFAULT 0,
    slots          bigint NOT NULL DEFAULT 0 CHECK (slots >= 0),
    total_slots    bigint NOT NULL DEFAULT 0,
    reserved_slots bigint NOT NULL DEFAULT 0,
    version        bigint NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL DEFAULT now(),
    left_at        timestamptz,
    revoked_at     timestamptz,
    held           boolean NOT NULL DEFAULT false,
    CONSTRAINT nodes_capacity CHECK (reserved_slots >= 0 AND reserved_slots <= total_slots)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX nodes_by_owner ON nodes (owner_id, id);
CREATE INDEX nodes_by_license ON nodes (license_id);
CREATE INDEX nodes_by_pool ON nodes (pool_id);

-- Named resources and memory domains (MiB), touched only by demands beyond slots.
CREATE TABLE node_resources (
    node_id  text COLLATE "C" NOT NULL REFERENCES nodes,
    kind     text NOT NULL CHECK (kind IN ('resource', 'memory')),
    name     text COLLATE "C" NOT NULL,
    capacity bigint NOT NULL CHECK (capacity >= 0),
    total    bigint NOT NULL,
    reserved bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (node_id, kind, name),
    CONSTRAINT node_resources_capacity CHECK (reserved >= 0 AND reserved <= total)
) WITH (fillfactor = 50);

-- What the last hello reported.
CREATE TABLE node_reports (
    node_id     text COLLATE "C" PRIMARY KEY REFERENCES nodes,
    report      jsonb NOT NULL,
    reported_at timestamptz NOT NULL DEFAULT now()
);

-- Apart from nodes, so that the flush of a whole fleet locks none of its rows.
CREATE TABLE node_seen (
    node_id   text COLLATE "C" PRIMARY KEY REFERENCES nodes,
    last_seen timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE node_holds (
    node_id    text COLLATE "C" NOT NULL REFERENCES nodes,
    kind       text NOT NULL CHECK (kind IN ('cordon', 'drain', 'quarantine', 'auto')),
    owner      text NOT NULL CHECK (owner IN ('operator', 'self', 'auto')),
    actor      text NOT NULL,
    reason     text NOT NULL,
    until      timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node_id, kind, owner)
);

-- nodes.held is true while any hold stands. The node's row is locked first, so
-- that two holds lifted at once don't see each other.
CREATE FUNCTION node_holds_to_held() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    node text := CASE WHEN TG_OP = 'DELETE' THEN OLD.node_id ELSE NEW.node_id END;
BEGIN
    PERFORM 1 FROM nodes WHERE id = node FOR NO KEY UPDATE;
    UPDATE nodes SET held = EXISTS (SELECT 1 FROM node_holds WHERE node_id = node) WHERE id = node;
    RETURN NULL;
END $$;
CREATE TRIGGER node_holds_to_held AFTER INSERT OR DELETE ON node_holds
    FOR EACH ROW EXECUTE FUNCTION node_holds_to_held();

-- The shard: who dispatches. The epoch is unique so that a commit's FOR KEY
-- SHARE conflicts with a takeover, which raises it, and not with a renewal.
CREATE TABLE shards (
    id         integer PRIMARY KEY,
    epoch      bigint NOT NULL UNIQUE,
    holder     text NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
INSERT INTO shards VALUES (1, 0, '', '-infinity');
