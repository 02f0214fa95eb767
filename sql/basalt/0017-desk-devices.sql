-- Browsers from which an owner has signed in, each with a cookie: wrong passwords and codes of others do not count there.
-- Tokens are stored as their SHA-256 digest.

CREATE TABLE desk_devices (
    token_hash     bytea NOT NULL,
    user_id        uuid NOT NULL,
    created_at     timestamptz NOT NULL,
    last_used_at   timestamptz NOT NULL,
    -- attempts at codes of this browser since attempts_since; a sign-in resets them
    attempts       integer NOT NULL,
    attempts_since timestamptz NOT NULL,
    CONSTRAINT desk_devices_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX desk_devices_user_id_idx ON desk_devices (user_id);
CREATE INDEX desk_devices_last_used_at_idx ON desk_devices (last_used_at);

-- Where a ticket was issued; none of older servers.
ALTER TABLE desk_tickets ADD COLUMN address text;

DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.desk_devices TO supabase_auth_admin;
    END IF;
END
$$;
