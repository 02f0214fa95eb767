-- Assertions that have signed somebody in, until nobody would accept them any more: each counts once.
CREATE TABLE saml_assertions (
    digest  bytea NOT NULL,       -- SHA-256 of the identity provider's name and the assertion's id
    ends_at timestamptz NOT NULL, -- from then on it is too old anyway
    CONSTRAINT saml_assertions_pkey PRIMARY KEY (digest)
);

CREATE INDEX saml_assertions_ends_at_idx ON saml_assertions (ends_at);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.saml_assertions TO supabase_auth_admin;
    END IF;
END
$$;
