-- The roles and the empty schema that an auth server finds in a project's database. Run by a superuser on a database of our
-- own; on somebody else's, its operator has made them. Safe to run again, and that is how the password is changed.
-- The setting basalt.auth_admin_password, made before this runs, becomes the password of supabase_auth_admin.

DO $$
DECLARE
    wanted record;
BEGIN
    FOR wanted IN
        SELECT *
        FROM (VALUES
            -- Owns the schema auth; what the auth server connects as.
            ('supabase_auth_admin', 'LOGIN NOINHERIT CREATEROLE'),
            ('supabase_admin', 'LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS'),
            -- May read the accounts, and let others read them. Often the superuser itself, and then it exists.
            ('postgres', 'LOGIN CREATEROLE CREATEDB REPLICATION BYPASSRLS'),
            ('dashboard_user', 'NOLOGIN CREATEROLE CREATEDB REPLICATION'),
            -- What a request to the database runs as, by the role of its token.
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
    EXECUTE format('GRANT CREATE ON DATABASE %I TO supabase_auth_admin', current_database());
END
$$;

CREATE SCHEMA IF NOT EXISTS auth AUTHORIZATION supabase_auth_admin;

-- Policies on an application's tables call auth.uid() and its sisters as these roles.
GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role, postgres, dashboard_user;
