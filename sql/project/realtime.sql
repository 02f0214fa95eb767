-- The schema of Supabase Realtime that policies and triggers of projects refer to. Basalt serves no channels: messages
-- wait in the table until they are three days old.

CREATE SCHEMA IF NOT EXISTS realtime;
GRANT USAGE ON SCHEMA realtime TO anon, authenticated, service_role, postgres;
GRANT ALL ON SCHEMA realtime TO supabase_realtime_admin;

CREATE TABLE IF NOT EXISTS realtime.messages (
    topic       text NOT NULL,
    extension   text NOT NULL,
    payload     jsonb,
    event       text,
    private     boolean DEFAULT false,
    updated_at  timestamp NOT NULL DEFAULT now(),
    inserted_at timestamp NOT NULL DEFAULT now(),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    PRIMARY KEY (id, inserted_at)
) PARTITION BY RANGE (inserted_at);
CREATE TABLE IF NOT EXISTS realtime.messages_default PARTITION OF realtime.messages DEFAULT;
ALTER TABLE realtime.messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE realtime.messages_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE realtime.messages OWNER TO supabase_realtime_admin;
ALTER TABLE realtime.messages_default OWNER TO supabase_realtime_admin;
GRANT SELECT, INSERT, UPDATE ON realtime.messages TO anon, authenticated, service_role;
GRANT ALL ON realtime.messages TO postgres, dashboard_user;

-- The topic of the channel whose access is being decided.
CREATE OR REPLACE FUNCTION realtime.topic() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('realtime.topic', true), '')
$$;

-- Stores a broadcast. A failure is a warning: the transaction of the caller must not depend on listeners.
CREATE OR REPLACE FUNCTION realtime.send(payload jsonb, event text, topic text, private boolean DEFAULT true)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('realtime.topic', topic, true);
    INSERT INTO realtime.messages (payload, event, topic, private, extension)
    VALUES (payload || jsonb_build_object('id', coalesce(payload ->> 'id', gen_random_uuid()::text)), event, topic, private, 'broadcast');
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'the message for topic % was not stored: %', topic, SQLERRM;
END
$$;

-- Broadcasts the change of a row, for triggers.
CREATE OR REPLACE FUNCTION realtime.broadcast_changes(
    topic_name   text,
    event_name   text,
    operation    text,
    table_name   text,
    table_schema text,
    new          record,
    old          record,
    level        text DEFAULT 'ROW'
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF level = 'STATEMENT' THEN
        RAISE EXCEPTION 'a trigger that broadcasts changes must run for each row, not for each statement';
    END IF;
    PERFORM realtime.send(
        jsonb_build_object(
            'old_record', CASE WHEN operation <> 'INSERT' THEN to_jsonb(old) END,
            'record', CASE WHEN operation <> 'DELETE' THEN to_jsonb(new) END,
            'operation', operation,
            'table', table_name,
            'schema', table_schema
        ),
        event_name,
        topic_name
    );
END
$$;

GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA realtime TO anon, authenticated, service_role, postgres, dashboard_user;
