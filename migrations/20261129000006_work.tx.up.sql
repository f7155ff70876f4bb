-- Work: an app's share, pauses and the ledger of waiting, placements, and keys that
-- make any POST repeatable.

ALTER TABLE apps
    ADD COLUMN weight         integer NOT NULL DEFAULT 100 CHECK (weight BETWEEN 1 AND 1000),
    ADD COLUMN max_open_jobs  bigint NOT NULL DEFAULT 0 CHECK (max_open_jobs >= 0),   -- 0: no bound, here and below
    ADD COLUMN max_placements bigint NOT NULL DEFAULT 0 CHECK (max_placements >= 0),
    ADD COLUMN max_slots      bigint NOT NULL DEFAULT 0 CHECK (max_slots >= 0);

-- waits is the ledger as numbers with commas, NULL while they are all zero.
ALTER TABLE jobs ADD COLUMN not_before timestamptz, ADD COLUMN waits text;

CREATE TABLE placements (
    id           uuid PRIMARY KEY,
    app_id       text COLLATE "C" NOT NULL,
    owner_id     bigint NOT NULL,       -- the app's owner when it was placed; 0: none
    submitter_id bigint NOT NULL,
    role         text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    state        text COLLATE "C" NOT NULL,
    fallback     boolean NOT NULL,
    spec         text NOT NULL,
    decision     text NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    CONSTRAINT placements_ended CHECK ((ended_at IS NULL) = (state IN ('active', 'draining')))
);
CREATE INDEX placements_by_app ON placements (app_id, id);
CREATE INDEX placements_lasting ON placements (id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX placements_by_key ON placements (app_id, role, key) WHERE ended_at IS NULL AND key <> '';

CREATE TABLE placement_nodes (
    placement_id uuid NOT NULL REFERENCES placements ON DELETE CASCADE,
    place        integer NOT NULL,      -- by rank, from 0
    node_id      text COLLATE "C" NOT NULL,
    pool_id      text COLLATE "C" NOT NULL,
    PRIMARY KEY (placement_id, place)
);
CREATE INDEX placement_nodes_by_node ON placement_nodes (node_id);

-- A key is of a job or of a placement, which came with it in one transaction; or of
-- any other POST: claimed by the request that carries it out, acted once what that
-- did is committed, and at last with its answer (status, location, body).
ALTER TABLE idempotency
    ALTER COLUMN job_id DROP NOT NULL,
    ADD COLUMN placement_id uuid,
    ADD COLUMN claim        bigint,
    ADD COLUMN claimed_at   timestamptz,
    ADD COLUMN acted        boolean,
    ADD COLUMN status       integer,
    ADD COLUMN location     text,
    ADD COLUMN body         bytea CHECK (length(body) <= 16384),
    ADD CONSTRAINT idempotency_of_one CHECK (num_nonnulls(job_id, placement_id, claim) = 1);
