-- How an owner of the desk gets back in: recovery codes, links of the operator. And views of a shop in development.
-- Tokens and codes are stored as their SHA-256 digest.

CREATE TABLE desk_recovery_codes (
    user_id    uuid NOT NULL,
    code_hash  bytea NOT NULL,
    created_at timestamptz NOT NULL,
    used_at    timestamptz,
    CONSTRAINT desk_recovery_codes_pkey PRIMARY KEY (user_id, code_hash)
);

-- A link by which an owner chooses a new password and connects a new authenticator app; the latest of each owner.
CREATE TABLE desk_reset_links (
    user_id    uuid NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    CONSTRAINT desk_reset_links_pkey PRIMARY KEY (user_id),
    CONSTRAINT desk_reset_links_token_hash_key UNIQUE (token_hash)
);

-- Requests of pages while the development pages are served; as page_views.
CREATE TABLE test_page_views (
    day      date NOT NULL,
    page     text NOT NULL,
    template integer NOT NULL,
    views    bigint NOT NULL,
    CONSTRAINT test_page_views_pkey PRIMARY KEY (day, page, template)
);

DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON basalt.desk_recovery_codes, basalt.desk_reset_links, basalt.test_page_views
            TO supabase_auth_admin;
    END IF;
END
$$;
