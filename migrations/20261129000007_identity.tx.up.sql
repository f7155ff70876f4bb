-- What tells a node from copies of it. Apart from nodes, whose rows are narrow; a
-- row appears with the node's first session that knows of the chain.
CREATE TABLE node_identities (
    node_id         text COLLATE "C" PRIMARY KEY REFERENCES nodes,
    chain_current   bytea CHECK (length(chain_current) = 32),           -- SHA-256 of the value, here and below
    chain_pending   bytea NOT NULL DEFAULT '' CHECK (length(chain_pending) % 32 = 0),   -- one behind the other, the newest last
    chain_past      bytea NOT NULL DEFAULT '' CHECK (length(chain_past) % 32 = 0),
    claimants       jsonb NOT NULL DEFAULT '[]',
    keep            text NOT NULL DEFAULT '',                           -- the claimant that a person chose
    rotation        text NOT NULL DEFAULT '',                           -- the one that is under way
    secret_next     bytea UNIQUE CHECK (length(secret_next) = 32)       -- SHA-256 of what the node put beside its secret
) WITH (fillfactor = 50);
