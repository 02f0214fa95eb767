-- Database webhooks: a trigger that sends the change of a row by `net`, and the history of its calls.

CREATE SCHEMA IF NOT EXISTS supabase_functions;
ALTER SCHEMA supabase_functions OWNER TO supabase_functions_admin;
CREATE TABLE IF NOT EXISTS supabase_functions.migrations (
    version     text PRIMARY KEY,
    inserted_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS supabase_functions.hooks (
    id            bigserial PRIMARY KEY,
    hook_table_id integer NOT NULL,
    hook_name     text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    request_id    bigint
);
CREATE INDEX IF NOT EXISTS supabase_functions_hooks_request_id_idx ON supabase_functions.hooks (request_id);
CREATE INDEX IF NOT EXISTS supabase_functions_hooks_h_table_id_h_name_idx
ON supabase_functions.hooks (hook_table_id, hook_name);
COMMENT ON TABLE supabase_functions.hooks IS 'Calls of database webhooks; request_id is that of net._http_response';

-- The arguments of the trigger: URL, method, headers, parameters, time limit in milliseconds.
CREATE OR REPLACE FUNCTION supabase_functions.http_request() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
    url text := TG_ARGV[0];
    method text := TG_ARGV[1];
    headers jsonb := '{"Content-Type": "application/json"}';
    params jsonb := '{}';
    time_limit integer := 1000;
    request bigint;
BEGIN
    IF url IS NULL OR url = 'null' THEN
        RAISE EXCEPTION 'url argument is missing';
    END IF;
    IF method IS NULL OR method = 'null' THEN
        RAISE EXCEPTION 'method argument is missing';
    END IF;
    IF TG_ARGV[2] IS NOT NULL AND TG_ARGV[2] <> 'null' THEN
        headers := TG_ARGV[2]::jsonb;
    END IF;
    IF TG_ARGV[3] IS NOT NULL AND TG_ARGV[3] <> 'null' THEN
        params := TG_ARGV[3]::jsonb;
    END IF;
    IF TG_ARGV[4] IS NOT NULL AND TG_ARGV[4] <> 'null' THEN
        time_limit := TG_ARGV[4]::integer;
    END IF;
    CASE pg_catalog.upper(method)
        WHEN 'GET' THEN
            request := net.http_get(url, params, headers, time_limit);
        WHEN 'POST' THEN
            request := net.http_post(
                url,
                pg_catalog.jsonb_build_object(
                    'old_record', OLD, 'record', NEW, 'type', TG_OP, 'table', TG_TABLE_NAME, 'schema', TG_TABLE_SCHEMA
                ),
                params, headers, time_limit
            );
        ELSE
            RAISE EXCEPTION 'method argument % is invalid', method;
    END CASE;
    INSERT INTO supabase_functions.hooks (hook_table_id, hook_name, request_id) VALUES (TG_RELID, TG_NAME, request);
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;

GRANT USAGE ON SCHEMA supabase_functions TO postgres, anon, authenticated, service_role;
GRANT ALL ON ALL TABLES IN SCHEMA supabase_functions TO postgres, service_role;
GRANT ALL ON ALL SEQUENCES IN SCHEMA supabase_functions TO postgres, service_role;
ALTER TABLE supabase_functions.migrations OWNER TO supabase_functions_admin;
ALTER TABLE supabase_functions.hooks OWNER TO supabase_functions_admin;
ALTER FUNCTION supabase_functions.http_request() OWNER TO supabase_functions_admin;
REVOKE ALL ON FUNCTION supabase_functions.http_request() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION supabase_functions.http_request() TO postgres, anon, authenticated, service_role;
