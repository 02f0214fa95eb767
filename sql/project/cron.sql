-- The SQL of the extension pg_cron. Basalt runs the jobs. Times are those of the server, in UTC.

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_cron' AND extversion <> 'basalt') THEN
        RETURN;
    END IF;

    CREATE SCHEMA IF NOT EXISTS cron;
    CREATE SEQUENCE IF NOT EXISTS cron.jobid_seq;
    CREATE SEQUENCE IF NOT EXISTS cron.runid_seq;
    CREATE TABLE IF NOT EXISTS cron.job (
        jobid    bigint PRIMARY KEY DEFAULT nextval('cron.jobid_seq'),
        schedule text NOT NULL,
        command  text NOT NULL,
        nodename text NOT NULL DEFAULT 'localhost',
        nodeport integer NOT NULL DEFAULT coalesce(inet_server_port(), 5432),
        database text NOT NULL DEFAULT current_database(),
        username text NOT NULL DEFAULT CURRENT_USER,
        active   boolean NOT NULL DEFAULT true,
        jobname  text,
        CONSTRAINT jobname_username_uniq UNIQUE (jobname, username)
    );
    CREATE TABLE IF NOT EXISTS cron.job_run_details (
        jobid          bigint,
        runid          bigint PRIMARY KEY DEFAULT nextval('cron.runid_seq'),
        job_pid        integer,
        database       text,
        username       text,
        command        text,
        status         text,
        return_message text,
        start_time     timestamptz,
        end_time       timestamptz
    );
    ALTER TABLE cron.job ENABLE ROW LEVEL SECURITY;
    ALTER TABLE cron.job_run_details ENABLE ROW LEVEL SECURITY;
    IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'cron.job'::regclass) THEN
        CREATE POLICY cron_job_policy ON cron.job USING (username = CURRENT_USER);
        CREATE POLICY cron_job_run_details_policy ON cron.job_run_details USING (username = CURRENT_USER);
    END IF;

    -- Five fields, a number of seconds, or a name. The server reads the values once more when it runs the job.
    CREATE OR REPLACE FUNCTION cron.is_schedule(schedule text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $body$
        SELECT schedule ~* '^\s*([1-9]|[1-5][0-9])\s+seconds?\s*$'
            OR schedule ~* '^\s*@(yearly|annually|monthly|weekly|daily|midnight|hourly)\s*$'
            OR schedule ~* '^\s*([*0-9,/-]+\s+){2}([*0-9,/-]+|\$)\s+[*0-9a-z,/-]+\s+[*0-9a-z,/-]+\s*$'
    $body$;

    CREATE OR REPLACE FUNCTION cron.schedule_in_database(
        job_name text,
        schedule text,
        command  text,
        database text,
        username text DEFAULT NULL,
        active   boolean DEFAULT true
    ) RETURNS bigint LANGUAGE plpgsql AS $body$
    #variable_conflict use_variable
    DECLARE
        id bigint;
        owner text := coalesce(username, CURRENT_USER);
    BEGIN
        IF NOT cron.is_schedule(schedule) THEN
            RAISE EXCEPTION 'invalid schedule: %', schedule
                USING HINT = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
        END IF;
        IF owner <> CURRENT_USER AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = CURRENT_USER) THEN
            RAISE EXCEPTION 'must be superuser to create a job for another role';
        END IF;
        INSERT INTO cron.job AS j (schedule, command, database, username, active, jobname)
        VALUES (schedule, command, database, owner, active, job_name)
        ON CONFLICT ON CONSTRAINT jobname_username_uniq DO UPDATE
        SET schedule = EXCLUDED.schedule,
            command = EXCLUDED.command,
            database = EXCLUDED.database,
            active = EXCLUDED.active
        RETURNING j.jobid INTO id;
        PERFORM pg_catalog.pg_notify('basalt_database_jobs', 'cron');
        RETURN id;
    END
    $body$;

    CREATE OR REPLACE FUNCTION cron.schedule(job_name text, schedule text, command text) RETURNS bigint LANGUAGE sql AS $body$
        SELECT cron.schedule_in_database(job_name, schedule, command, current_database())
    $body$;

    CREATE OR REPLACE FUNCTION cron.schedule(schedule text, command text) RETURNS bigint LANGUAGE sql AS $body$
        SELECT cron.schedule_in_database(NULL, schedule, command, current_database())
    $body$;

    CREATE OR REPLACE FUNCTION cron.unschedule(job_id bigint) RETURNS boolean LANGUAGE plpgsql AS $body$
    BEGIN
        DELETE FROM cron.job AS j WHERE j.jobid = job_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'could not find valid entry for job ''%''', job_id;
        END IF;
        RETURN true;
    END
    $body$;

    CREATE OR REPLACE FUNCTION cron.unschedule(job_name text) RETURNS boolean LANGUAGE plpgsql AS $body$
    BEGIN
        DELETE FROM cron.job AS j WHERE j.jobname = job_name AND j.username = CURRENT_USER;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'could not find valid entry for job ''%''', job_name;
        END IF;
        RETURN true;
    END
    $body$;

    CREATE OR REPLACE FUNCTION cron.alter_job(
        job_id   bigint,
        schedule text DEFAULT NULL,
        command  text DEFAULT NULL,
        database text DEFAULT NULL,
        username text DEFAULT NULL,
        active   boolean DEFAULT NULL
    ) RETURNS void LANGUAGE plpgsql AS $body$
    #variable_conflict use_variable
    BEGIN
        IF schedule IS NOT NULL AND NOT cron.is_schedule(schedule) THEN
            RAISE EXCEPTION 'invalid schedule: %', schedule;
        END IF;
        IF username <> CURRENT_USER AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = CURRENT_USER) THEN
            RAISE EXCEPTION 'must be superuser to alter a job of another role';
        END IF;
        UPDATE cron.job AS j
        SET schedule = coalesce(schedule, j.schedule),
            command = coalesce(command, j.command),
            database = coalesce(database, j.database),
            username = coalesce(username, j.username),
            active = coalesce(active, j.active)
        WHERE j.jobid = job_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Job % does not exist or you don''t own it', job_id;
        END IF;
        PERFORM pg_catalog.pg_notify('basalt_database_jobs', 'cron');
    END
    $body$;

    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA cron FROM PUBLIC;
    GRANT USAGE ON SCHEMA cron TO postgres;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA cron TO postgres;
    GRANT ALL ON ALL TABLES IN SCHEMA cron TO postgres;
END
$$;
