-- Rows without a meaning: a request for a message to an address that has no account writes as much as one for an address that
-- has, so that its duration does not tell which it is. They hold nothing of the request, and later requests delete them.
CREATE TABLE decoys (
    id         uuid NOT NULL,
    owner      uuid NOT NULL,
    digest     text NOT NULL,
    relates_to text NOT NULL,
    body       text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT decoys_pkey PRIMARY KEY (id)
);

-- As many entries of indexes for a row as for one of an account and what hangs on it.
CREATE INDEX decoys_owner_idx ON decoys (owner);
CREATE INDEX decoys_digest_idx ON decoys (digest);
CREATE INDEX decoys_relates_to_idx ON decoys (lower(relates_to));
CREATE INDEX decoys_created_at_idx ON decoys (created_at);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.decoys TO supabase_auth_admin;
    END IF;
END
$$;
