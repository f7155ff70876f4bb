-- Who may do what: users, their grants, API tokens; the pools, because every
-- user has one; and the audit chain, because every administrative write adds to it.

CREATE TABLE users (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE CHECK (name <> ''),
    disabled   boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A grant: user, role, and the pool it is for; '*' is the whole fleet.
CREATE TABLE user_roles (
    user_id bigint NOT NULL REFERENCES users,
    role    text NOT NULL CHECK (role IN ('superadmin', 'operator', 'viewer', 'user')),
    pool_id text COLLATE "C" NOT NULL DEFAULT '*',
    PRIMARY KEY (user_id, role, pool_id)
);
CREATE INDEX user_roles_by_role ON user_roles (role);

-- sum is the SHA-256 of a 256-bit random secret; the secret itself is nowhere.
CREATE TABLE tokens (
    id         text COLLATE "C" PRIMARY KEY,
    user_id    bigint NOT NULL REFERENCES users,
    name       text NOT NULL,
    scopes     text[] NOT NULL,
    sum        bytea NOT NULL UNIQUE CHECK (length(sum) = 32),
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used  timestamptz
);
CREATE INDEX tokens_by_user ON tokens (user_id, id);

CREATE TABLE setup_tokens (
    sum        bytea PRIMARY KEY CHECK (length(sum) = 32),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);

CREATE TABLE pools (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('default', 'unassigned', 'user', 'named')),
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'draining', 'disabled')),
    created_at timestamptz NOT NULL DEFAULT now(),
    version    bigint NOT NULL DEFAULT 1,
    CHECK ((kind IN ('default', 'unassigned')) = (id IN ('default', 'unassigned')))
);
INSERT INTO pools (id, name, kind) VALUES ('default', 'default', 'default'), ('unassigned', 'unassigned', 'unassigned');

-- The audit chain: sum = SHA-256 over the previous sum and the row. Only
-- audit_append writes here; it runs with its owner's rights, the server's role
-- has none to change or delete.
CREATE TABLE audit_entries (
    seq        bigint PRIMARY KEY,
    at         timestamptz NOT NULL,
    subject    text NOT NULL,
    address    text NOT NULL,
    request_id text NOT NULL,
    action     text NOT NULL CHECK (action <> ''),
    object     text NOT NULL,
    before     json,
    after      json,
    reason     text NOT NULL,
    prev_sum   bytea NOT NULL,
    sum        bytea NOT NULL
);

CREATE TABLE audit_head (
    id  boolean PRIMARY KEY DEFAULT true CHECK (id),
    seq bigint NOT NULL,
    sum bytea NOT NULL
);
INSERT INTO audit_head (seq, sum) VALUES (0, decode(repeat('00', 32), 'hex'));

CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed or deleted' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();

-- One field of a row's canonical encoding: length (4 bytes, -1 for null), bytes.
CREATE FUNCTION audit_field(value bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT int4send(coalesce(length(value), -1)) || coalesce(value, ''::bytea)
$$;

CREATE FUNCTION audit_append(
    p_subject text, p_address text, p_request_id text, p_action text, p_object text,
    p_before json, p_after json, p_reason text
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    head audit_head%ROWTYPE;
    now_ timestamptz;
    sum_ bytea;
BEGIN
    SELECT * INTO STRICT head FROM audit_head FOR UPDATE;
    now_ := clock_timestamp();
    head.seq := head.seq + 1;
    sum_ := sha256(head.sum
        || audit_field(int8send(head.seq))
        || audit_field(int8send((extract(epoch FROM now_) * 1000000)::bigint))
        || audit_field(convert_to(p_subject, 'UTF8'))
        || audit_field(convert_to(p_address, 'UTF8'))
        || audit_field(convert_to(p_request_id, 'UTF8'))
        || audit_field(convert_to(p_action, 'UTF8'))
        || audit_field(convert_to(p_object, 'UTF8'))
        || audit_field(convert_to(p_before::text, 'UTF8'))
        || audit_field(convert_to(p_after::text, 'UTF8'))
        || audit_field(convert_to(p_reason, 'UTF8')));
    INSERT INTO audit_entries VALUES (head.seq, now_, p_subject, p_address, p_request_id, p_action, p_object,
        p_before, p_after, p_reason, head.sum, sum_);
    UPDATE audit_head SET seq = head.seq, sum = sum_;
    RETURN head.seq;
END $$;
REVOKE EXECUTE ON FUNCTION audit_append(text, text, text, text, text, json, json, text) FROM PUBLIC;
