-- The roles that the storage API works with. A role that exists is kept as it is. An owner of the schema who may not create
-- roles finds them there.

DO $$
DECLARE
    wanted record;
BEGIN
    FOR wanted IN
        SELECT *
        FROM (VALUES
            -- Owns the schema storage; the storage server connects as this role.
            ('supabase_storage_admin', 'LOGIN NOINHERIT CREATEROLE'),
            -- The roles of requests, selected by the role claim of the token.
            ('anon', 'NOLOGIN NOINHERIT'),
            ('authenticated', 'NOLOGIN NOINHERIT'),
            ('service_role', 'NOLOGIN NOINHERIT BYPASSRLS')
        ) AS roles (name, options)
    LOOP
        IF to_regrole(wanted.name) IS NULL THEN
            EXECUTE format('CREATE ROLE %I %s', wanted.name, wanted.options);
        END IF;
    END LOOP;

    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        GRANT anon, authenticated, service_role TO supabase_storage_admin;
        ALTER ROLE supabase_storage_admin SET search_path = 'storage';
        EXECUTE format('GRANT CREATE ON DATABASE %I TO supabase_storage_admin', current_database());
        IF to_regrole('postgres') IS NOT NULL THEN
            -- Migrations of a project create policies on storage.objects as this role: only members of the owner may.
            GRANT supabase_storage_admin TO postgres;
        END IF;
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS storage;
COMMENT ON SCHEMA storage IS 'Basalt: the schema of the storage API, as Supabase Storage leaves it';
GRANT USAGE ON SCHEMA storage TO anon, authenticated, service_role;
GRANT ALL ON SCHEMA storage TO supabase_storage_admin;
DO $$
BEGIN
    IF to_regrole('postgres') IS NOT NULL THEN
        GRANT ALL ON SCHEMA storage TO postgres WITH GRANT OPTION;
    END IF;
END
$$;
