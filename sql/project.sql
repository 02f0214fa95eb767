-- What migrations of a Supabase project expect of an empty database, and the tables that record which of its files ran.
-- Run by a superuser on the embedded database. Idempotent: an older database gets what is new.

CREATE SCHEMA IF NOT EXISTS extensions;
GRANT USAGE ON SCHEMA extensions TO PUBLIC;
GRANT ALL ON SCHEMA extensions TO dashboard_user;

DO $$
DECLARE
    wanted text;
BEGIN
    -- Not every build of PostgreSQL has them.
    FOR wanted IN
        SELECT name
        FROM pg_available_extensions
        WHERE name IN ('pgcrypto', 'uuid-ossp') AND installed_version IS NULL
    LOOP
        EXECUTE format('CREATE EXTENSION IF NOT EXISTS %I WITH SCHEMA extensions', wanted);
    END LOOP;

    IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = 'supabase_realtime') THEN
        CREATE PUBLICATION supabase_realtime;
    END IF;
END
$$;

GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role, postgres;
GRANT ALL ON SCHEMA public TO supabase_admin;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO anon, authenticated, service_role, postgres;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role, postgres;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON SEQUENCES TO anon, authenticated, service_role, postgres;

-- The data API exposes it by default; it is empty without pg_graphql.
CREATE SCHEMA IF NOT EXISTS graphql_public;
GRANT USAGE ON SCHEMA graphql_public TO anon, authenticated, service_role, postgres;
-- `db pull` writes `CREATE EXTENSION pg_graphql WITH SCHEMA graphql`, which fails without the schema for another reason
-- than the missing extension.
CREATE SCHEMA IF NOT EXISTS graphql;
GRANT USAGE ON SCHEMA graphql TO anon, authenticated, service_role, postgres;

-- The data API reads the schema anew when a command changed it.
CREATE OR REPLACE FUNCTION extensions.pgrst_ddl_watch() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY pgrst, 'reload schema';
END
$$;
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_event_trigger WHERE evtname = 'pgrst_ddl_watch') THEN
        CREATE EVENT TRIGGER pgrst_ddl_watch ON ddl_command_end EXECUTE FUNCTION extensions.pgrst_ddl_watch();
        CREATE EVENT TRIGGER pgrst_drop_watch ON sql_drop EXECUTE FUNCTION extensions.pgrst_ddl_watch();
    END IF;
END
$$;
