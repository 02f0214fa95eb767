-- What policies on an application's own tables ask: who is calling?
-- The API gateway leaves the caller's claims in a setting of the transaction, either all of them as one JSON
-- (request.jwt.claims) or each under its own name (request.jwt.claim.sub); the latter wins. A setting that was
-- never made and one that was emptied mean the same.

CREATE FUNCTION uid() RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN current_setting('request.jwt.claim.sub', true) <> ''
            THEN current_setting('request.jwt.claim.sub', true)
        ELSE nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
    END::uuid
$$;

CREATE FUNCTION role() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN current_setting('request.jwt.claim.role', true) <> ''
            THEN current_setting('request.jwt.claim.role', true)
        ELSE nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
    END
$$;

CREATE FUNCTION email() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN current_setting('request.jwt.claim.email', true) <> ''
            THEN current_setting('request.jwt.claim.email', true)
        ELSE nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'
    END
$$;

CREATE FUNCTION jwt() RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN current_setting('request.jwt.claim', true) <> ''
            THEN current_setting('request.jwt.claim', true)
        ELSE nullif(current_setting('request.jwt.claims', true), '')
    END::jsonb
$$;
