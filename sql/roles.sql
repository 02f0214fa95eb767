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
            -- The owners of the schemas of other services, and roles that migrations grant rights to. No role has a
            -- password by which somebody could log in.
            ('supabase_storage_admin', 'LOGIN NOINHERIT CREATEROLE'),
            ('supabase_functions_admin', 'LOGIN NOINHERIT CREATEROLE'),
            ('supabase_realtime_admin', 'NOLOGIN NOINHERIT'),
            ('supabase_replication_admin', 'LOGIN REPLICATION'),
            ('supabase_etl_admin', 'LOGIN REPLICATION'),
            ('supabase_read_only_user', 'LOGIN BYPASSRLS'),
            ('pgbouncer', 'LOGIN'),
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
    GRANT anon, authenticated, service_role TO authenticator, supabase_storage_admin, supabase_realtime_admin, postgres;
    GRANT authenticator TO supabase_storage_admin;
    GRANT supabase_realtime_admin, supabase_functions_admin TO postgres;
    GRANT pg_read_all_data TO supabase_read_only_user, supabase_etl_admin;
    GRANT pg_monitor TO supabase_read_only_user;
    -- The limits of the local Supabase. Once set, those of a project stay.
    FOR wanted IN
        SELECT *
        FROM (VALUES
            ('anon', 'statement_timeout', '3s'),
            ('authenticated', 'statement_timeout', '8s'),
            ('authenticator', 'statement_timeout', '8s'),
            ('authenticator', 'lock_timeout', '8s')
        ) AS limits (name, setting, value)
        WHERE NOT EXISTS (
            SELECT
            FROM pg_db_role_setting
            WHERE setrole = to_regrole(limits.name)
              AND setdatabase = 0
              AND EXISTS (SELECT FROM unnest(setconfig) AS assigned WHERE assigned LIKE limits.setting || '=%')
        )
        ORDER BY limits.name, limits.setting
    LOOP
        EXECUTE format('ALTER ROLE %I SET %I = %L', wanted.name, wanted.setting, wanted.value);
    END LOOP;
    EXECUTE format('GRANT CREATE ON DATABASE %I TO supabase_auth_admin', current_database());
END
$$;

CREATE SCHEMA IF NOT EXISTS auth AUTHORIZATION supabase_auth_admin;

-- Row level security policies of applications call auth.uid() and related functions as these roles.
GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role, postgres, dashboard_user;
