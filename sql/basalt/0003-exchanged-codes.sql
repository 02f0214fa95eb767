-- Authorization codes of the OAuth server that were exchanged, with the session that each opened: a client that presents one
-- again loses that session (RFC 6749 §4.1.2).
CREATE TABLE exchanged_codes (
    digest     bytea NOT NULL,       -- SHA-256 of the code
    client_id  uuid NOT NULL,
    session_id uuid NOT NULL,        -- of auth.sessions; it may be gone
    ends_at    timestamptz NOT NULL, -- kept until then
    CONSTRAINT exchanged_codes_pkey PRIMARY KEY (digest)
);

CREATE INDEX exchanged_codes_ends_at_idx ON exchanged_codes (ends_at);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.exchanged_codes TO supabase_auth_admin;
    END IF;
END
$$;
