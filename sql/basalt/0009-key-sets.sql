-- Signing keys and API keys that `basalt keys` has added, for all servers of this database.

CREATE TABLE key_sets (
    name    text NOT NULL,
    version bigint NOT NULL, -- grows with every change
    sealed  text NOT NULL,   -- encrypted with a key that is derived from auth.jwt_secret
    CONSTRAINT key_sets_pkey PRIMARY KEY (name)
);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.key_sets TO supabase_auth_admin;
    END IF;
END
$$;
