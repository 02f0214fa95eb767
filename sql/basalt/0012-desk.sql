-- The owner's desk: the link that makes the first owner, sign-ins that are not complete, sessions, what was done, and views of pages.
-- Tokens are stored as their SHA-256 digest.

-- The latest link; there is one at most.
CREATE TABLE desk_setup_links (
    is_latest     boolean NOT NULL DEFAULT true CHECK (is_latest),
    token_hash    bytea NOT NULL,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    -- until then a request holds the link, which makes the owner
    claimed_until timestamptz,
    used_at       timestamptz,
    CONSTRAINT desk_setup_links_pkey PRIMARY KEY (is_latest)
);

CREATE TABLE desk_tickets (
    token_hash bytea NOT NULL,
    purpose    text NOT NULL CHECK (purpose IN ('code', 'enrollment', 'passkey', 'registration')),
    -- the user and the session of the auth API; none before a passkey names them
    user_id    uuid,
    session_id uuid,
    -- the factor of an enrollment, the challenge of a passkey
    subject    uuid,
    attempts   integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT desk_tickets_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX desk_tickets_user_id_idx ON desk_tickets (user_id, created_at);
CREATE INDEX desk_tickets_expires_at_idx ON desk_tickets (expires_at);

CREATE TABLE desk_sessions (
    id           uuid NOT NULL,
    token_hash   bytea NOT NULL,
    user_id      uuid NOT NULL,
    -- the session of the auth API; the session of the desk ends with it
    session_id   uuid NOT NULL,
    -- code: the session of the auth API must be at aal2; passkey: a passkey verified the user
    method       text NOT NULL CHECK (method IN ('code', 'passkey')),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    CONSTRAINT desk_sessions_pkey PRIMARY KEY (id),
    CONSTRAINT desk_sessions_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX desk_sessions_expires_at_idx ON desk_sessions (expires_at);

CREATE TABLE desk_events (
    id      bigint GENERATED ALWAYS AS IDENTITY,
    at      timestamptz NOT NULL,
    user_id uuid,
    action  text NOT NULL, -- such as sign_in, order.refund
    subject text, -- what was changed, or whose sign-in failed
    address text, -- of the client
    CONSTRAINT desk_events_pkey PRIMARY KEY (id)
);
CREATE INDEX desk_events_at_idx ON desk_events (at);

-- Requests of pages, by day in UTC. No visitor is recorded.
CREATE TABLE page_views (
    day      date NOT NULL,
    page     text NOT NULL, -- catalogue, template, submission
    template integer NOT NULL, -- 0 for pages of no template
    views    bigint NOT NULL,
    CONSTRAINT page_views_pkey PRIMARY KEY (day, page, template)
);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON basalt.desk_setup_links, basalt.desk_tickets, basalt.desk_sessions, basalt.desk_events, basalt.page_views
            TO supabase_auth_admin;
    END IF;
END
$$;
