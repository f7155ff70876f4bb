DROP TABLE node_identities;
