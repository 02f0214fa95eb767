-- The servers that use this database, and which of them runs a periodic job. Times are those of the database.

CREATE TABLE replicas (
    id           uuid NOT NULL,
    version      text NOT NULL,
    started_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    -- digests of keys and of settings that must be equal, by name: {"uses": digest, "accepts": [digest]}
    fingerprints jsonb NOT NULL,
    CONSTRAINT replicas_pkey PRIMARY KEY (id)
);

CREATE TABLE leases (
    name       text NOT NULL, -- of the job
    holder     uuid NOT NULL, -- the replica
    expires_at timestamptz NOT NULL,
    CONSTRAINT leases_pkey PRIMARY KEY (name)
);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.replicas, basalt.leases TO supabase_auth_admin;
    END IF;
END
$$;
