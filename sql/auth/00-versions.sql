-- Which versions of the reference's schema this one holds: a row each, from versions.txt beside this file.
-- The reference reads it at its start, to see that nothing is left for it to do.

CREATE TABLE schema_migrations (
    version varchar(14) NOT NULL,
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE UNIQUE INDEX schema_migrations_version_idx ON schema_migrations (version);
