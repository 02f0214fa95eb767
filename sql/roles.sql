-- Creates the roles and the empty schema of a Supabase project's database. Run by a superuser on a database that is dedicated
-- to this server; on any other database its operator has created them. Idempotent; running it again changes the password.
-- The setting basalt.auth_admin_password, set by the caller, becomes the password of supabase_auth_admin and
-- authenticator.

DO $$
DECLARE
    wanted record;
BEGIN
    FOR wanted IN
        SELECT *
        FROM (VALUES
            -- Owns the schema auth; the auth server connects as this role.
            ('supabase_auth_admin', 'LOGIN NOINHERIT CREATEROLE'),
            ('supabase_admin', 'LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS'),
            -- May read the users and grant that right to others. Often the superuser, which exists already.
            ('postgres', 'LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS'),
            ('dashboard_user', 'NOLOGIN CREATEROLE CREATEDB REPLICATION'),
            -- The data API connects as this role and becomes the role of each request.
            ('authenticator', 'LOGIN NOINHERIT'),
            -- The roles of database requests, selected by the role claim of the token.
            ('anon', 'NOLOGIN NOINHERIT'),
            ('authenticated', 'NOLOGIN NOINHERIT'),
            ('service_role', 'NOLOGIN NOINHERIT BYPASSRLS')
        ) AS roles (name, options)
    LOOP
        IF to_regrole(wanted.name) IS NULL THEN
            EXECUTE format('CREATE ROLE %I %s', wanted.name, wanted.options);
        END IF;
    END LOOP;

    EXECUTE format(
        'ALTER ROLE supabase_auth_admin PASSWORD %L',
        current_setting('basalt.auth_admin_password')
    );
    ALTER ROLE supabase_auth_admin SET search_path = 'auth';
    EXECUTE format('ALTER ROLE authenticator PASSWORD %L', current_setting('basalt.auth_admin_password'));
    GRANT anon, authenticated, service_role TO authenticator;
    -- The limits of the local Supabase.
    ALTER ROLE anon SET statement_timeout = '3s';
    ALTER ROLE authenticated SET statement_timeout = '8s';
    ALTER ROLE authenticator SET statement_timeout = '8s';
    EXECUTE format('GRANT CREATE ON DATABASE %I TO supabase_auth_admin', current_database());
END
$$;

CREATE SCHEMA IF NOT EXISTS auth AUTHORIZATION supabase_auth_admin;

-- Row level security policies of applications call auth.uid() and related functions as these roles.
GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role, postgres, dashboard_user;
