-- Signing in: passwords and console sessions.

-- hash is argon2id in its usual text form; the password itself is nowhere.
CREATE TABLE user_passwords (
    user_id    bigint PRIMARY KEY REFERENCES users,
    hash       text NOT NULL CHECK (hash LIKE '$argon2id$%'),
    changed_at timestamptz NOT NULL DEFAULT now()
);

-- sum is the SHA-256 of the 256-bit random secret in the browser's cookie.
CREATE TABLE console_sessions (
    sum        bytea PRIMARY KEY CHECK (length(sum) = 32),
    user_id    bigint NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used  timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX console_sessions_by_user ON console_sessions (user_id);
