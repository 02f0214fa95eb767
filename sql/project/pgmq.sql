-- The SQL of the extension pgmq: message queues as tables. A message that is read is hidden until its visibility time `vt`.

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pgmq' AND extversion <> 'basalt') THEN
        RETURN;
    END IF;

    CREATE SCHEMA IF NOT EXISTS pgmq;
    CREATE TABLE IF NOT EXISTS pgmq.meta (
        queue_name     varchar NOT NULL UNIQUE,
        is_partitioned boolean NOT NULL,
        is_unlogged    boolean NOT NULL,
        created_at     timestamptz NOT NULL DEFAULT now()
    );
    IF to_regtype('pgmq.message_record') IS NULL THEN
        CREATE TYPE pgmq.message_record AS (
            msg_id      bigint,
            read_ct     integer,
            enqueued_at timestamptz,
            vt          timestamptz,
            message     jsonb,
            headers     jsonb
        );
        CREATE TYPE pgmq.queue_record AS (
            queue_name varchar, is_partitioned boolean, is_unlogged boolean, created_at timestamptz
        );
        CREATE TYPE pgmq.metrics_result AS (
            queue_name           text,
            queue_length         bigint,
            newest_msg_age_sec   integer,
            oldest_msg_age_sec   integer,
            total_messages       bigint,
            scrape_time          timestamptz,
            queue_visible_length bigint
        );
    END IF;

    -- The name has room for the longest prefix in an identifier of 63 bytes.
    CREATE OR REPLACE FUNCTION pgmq.validate_queue_name(queue_name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE AS $body$
    BEGIN
        IF coalesce(queue_name, '') = '' THEN
            RAISE EXCEPTION 'queue name is empty' USING ERRCODE = 'invalid_name';
        END IF;
        IF pg_catalog.octet_length(pg_catalog.lower(queue_name)) > 47 THEN
            RAISE EXCEPTION 'queue name is too long, maximum length is 47 characters' USING ERRCODE = 'invalid_name';
        END IF;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.format_table_name(queue_name text, prefix text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE AS $body$
    BEGIN
        PERFORM pgmq.validate_queue_name(queue_name);
        IF queue_name ~ '[$;'']|--' THEN
            RAISE EXCEPTION 'queue name contains invalid characters: $, ;, --, or ''' USING ERRCODE = 'invalid_name';
        END IF;
        RETURN pg_catalog.lower(prefix || '_' || queue_name);
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.acquire_queue_lock(queue_name text) RETURNS void LANGUAGE sql AS $body$
        SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('pgmq.queue_' || pg_catalog.lower(queue_name)))
    $body$;

    CREATE OR REPLACE FUNCTION pgmq._create_queue(queue_name text, is_unlogged boolean) RETURNS void
    LANGUAGE plpgsql AS $body$
    #variable_conflict use_variable
    DECLARE
        queue text := pgmq.format_table_name(queue_name, 'q');
        archive text := pgmq.format_table_name(queue_name, 'a');
        owned text;
    BEGIN
        PERFORM pgmq.acquire_queue_lock(queue_name);
        EXECUTE pg_catalog.format(
            'CREATE %s TABLE IF NOT EXISTS pgmq.%I (
                msg_id      bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
                read_ct     integer NOT NULL DEFAULT 0,
                enqueued_at timestamptz NOT NULL DEFAULT now(),
                vt          timestamptz NOT NULL,
                message     jsonb,
                headers     jsonb
            )', CASE WHEN is_unlogged THEN 'UNLOGGED' ELSE '' END, queue
        );
        EXECUTE pg_catalog.format(
            'CREATE TABLE IF NOT EXISTS pgmq.%I (
                msg_id      bigint PRIMARY KEY,
                read_ct     integer NOT NULL DEFAULT 0,
                enqueued_at timestamptz NOT NULL DEFAULT now(),
                archived_at timestamptz NOT NULL DEFAULT now(),
                vt          timestamptz NOT NULL,
                message     jsonb,
                headers     jsonb
            )', archive
        );
        EXECUTE pg_catalog.format('CREATE INDEX IF NOT EXISTS %I ON pgmq.%I (vt)', queue || '_vt_idx', queue);
        EXECUTE pg_catalog.format(
            'CREATE INDEX IF NOT EXISTS %I ON pgmq.%I (archived_at)', 'archived_at_idx_' || pg_catalog.lower(queue_name), archive
        );
        -- Supabase's role of migrations is the owner there.
        FOREACH owned IN ARRAY ARRAY[queue, archive] LOOP
            IF pg_catalog.pg_has_role('postgres', 'MEMBER') THEN
                EXECUTE pg_catalog.format('ALTER TABLE pgmq.%I OWNER TO postgres', owned);
            END IF;
        END LOOP;
        INSERT INTO pgmq.meta AS m (queue_name, is_partitioned, is_unlogged)
        VALUES (queue_name, false, is_unlogged)
        ON CONFLICT DO NOTHING;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.create_non_partitioned(queue_name text) RETURNS void LANGUAGE sql AS $body$
        SELECT pgmq._create_queue(queue_name, false)
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.create_unlogged(queue_name text) RETURNS void LANGUAGE sql AS $body$
        SELECT pgmq._create_queue(queue_name, true)
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.create(queue_name text) RETURNS void LANGUAGE sql AS $body$
        SELECT pgmq._create_queue(queue_name, false)
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.create_partitioned(
        queue_name text, partition_interval text DEFAULT '10000', retention_interval text DEFAULT '100000'
    ) RETURNS void LANGUAGE plpgsql AS $body$
    BEGIN
        RAISE NOTICE 'the queue is not partitioned: that needs the extensions pgmq and pg_partman';
        PERFORM pgmq._create_queue(queue_name, false);
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.convert_archive_partitioned(
        table_name         text,
        partition_interval text DEFAULT '10000',
        retention_interval text DEFAULT '100000',
        leading_partition  integer DEFAULT 10
    ) RETURNS void LANGUAGE plpgsql AS $body$
    BEGIN
        RAISE EXCEPTION 'archives cannot be partitioned without the extensions pgmq and pg_partman'
            USING ERRCODE = 'feature_not_supported', HINT = 'Install both for this PostgreSQL, or leave the archive as it is.';
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.drop_queue(queue_name text) RETURNS boolean LANGUAGE plpgsql AS $body$
    #variable_conflict use_variable
    DECLARE
        queue text := pgmq.format_table_name(queue_name, 'q');
    BEGIN
        PERFORM pgmq.acquire_queue_lock(queue_name);
        IF pg_catalog.to_regclass(pg_catalog.format('pgmq.%I', queue)) IS NULL THEN
            RAISE NOTICE 'pgmq queue `%` does not exist', queue_name;
            RETURN false;
        END IF;
        EXECUTE pg_catalog.format('DROP TABLE pgmq.%I', queue);
        EXECUTE pg_catalog.format('DROP TABLE IF EXISTS pgmq.%I', pgmq.format_table_name(queue_name, 'a'));
        DELETE FROM pgmq.meta AS m WHERE pg_catalog.lower(m.queue_name) = pg_catalog.lower(queue_name);
        RETURN true;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.drop_queue(queue_name text, partitioned boolean) RETURNS boolean LANGUAGE sql AS $body$
        SELECT pgmq.drop_queue(queue_name)
    $body$;

    -- Tables of queues belong to no extension here.
    CREATE OR REPLACE FUNCTION pgmq.detach_archive(queue_name text) RETURNS void LANGUAGE sql AS $body$
        SELECT pgmq.format_table_name(queue_name, 'a')
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send_batch(
        queue_name text, msgs jsonb [], headers jsonb [], delay timestamptz
    ) RETURNS SETOF bigint LANGUAGE plpgsql AS $body$
    BEGIN
        IF pg_catalog.cardinality(headers) <> pg_catalog.cardinality(msgs) THEN
            RAISE EXCEPTION 'msgs and headers must have the same length' USING ERRCODE = 'array_subscript_error';
        END IF;
        RETURN QUERY EXECUTE pg_catalog.format(
            'INSERT INTO pgmq.%I (vt, message, headers)
            SELECT $3, sent.message, sent.headers
            FROM ROWS FROM (unnest($1), unnest($2)) WITH ORDINALITY AS sent (message, headers, at)
            ORDER BY sent.at
            RETURNING msg_id', pgmq.format_table_name(queue_name, 'q')
        ) USING msgs, headers, delay;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send_batch(queue_name text, msgs jsonb []) RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send_batch(queue_name, msgs, NULL, pg_catalog.clock_timestamp())
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send_batch(queue_name text, msgs jsonb [], headers jsonb [])
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send_batch(queue_name, msgs, headers, pg_catalog.clock_timestamp())
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send_batch(queue_name text, msgs jsonb [], delay integer)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send_batch(queue_name, msgs, NULL, pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => delay))
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send_batch(queue_name text, msgs jsonb [], delay timestamptz)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send_batch(queue_name, msgs, NULL, delay)
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send_batch(queue_name text, msgs jsonb [], headers jsonb [], delay integer)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send_batch(queue_name, msgs, headers, pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => delay))
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send_batch(queue_name, ARRAY[msg], ARRAY[headers], delay)
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send(queue_name text, msg jsonb) RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send(queue_name, msg, NULL, pg_catalog.clock_timestamp())
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send(queue_name text, msg jsonb, headers jsonb)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send(queue_name, msg, headers, pg_catalog.clock_timestamp())
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send(queue_name text, msg jsonb, delay integer)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send(queue_name, msg, NULL, pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => delay))
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send(queue_name text, msg jsonb, delay timestamptz)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send(queue_name, msg, NULL, delay)
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.send(queue_name text, msg jsonb, headers jsonb, delay integer)
    RETURNS SETOF bigint LANGUAGE sql AS $body$
        SELECT pgmq.send(queue_name, msg, headers, pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => delay))
    $body$;

    -- Rows that another reader has locked are left to it; one that it has hidden meanwhile fails the condition again.
    CREATE OR REPLACE FUNCTION pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb DEFAULT '{}')
    RETURNS SETOF pgmq.message_record LANGUAGE plpgsql AS $body$
    BEGIN
        RETURN QUERY EXECUTE pg_catalog.format(
            'WITH found AS MATERIALIZED (
                SELECT q.msg_id
                FROM pgmq.%1$I AS q
                WHERE q.vt <= pg_catalog.clock_timestamp()
                    AND ($3 IS NULL OR $3 = ''{}'' OR q.message @> $3)
                ORDER BY q.msg_id
                LIMIT $2
                FOR UPDATE SKIP LOCKED
            ),
            updated AS (
                UPDATE pgmq.%1$I AS q
                SET vt = pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $1), read_ct = q.read_ct + 1
                FROM found
                WHERE q.msg_id = found.msg_id
                RETURNING q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers
            )
            SELECT u.msg_id, u.read_ct, u.enqueued_at, u.vt, u.message, u.headers FROM updated AS u ORDER BY u.msg_id',
            pgmq.format_table_name(queue_name, 'q')
        ) USING vt, qty, conditional;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.read_with_poll(
        queue_name       text,
        vt               integer,
        qty              integer,
        max_poll_seconds integer DEFAULT 5,
        poll_interval_ms integer DEFAULT 100,
        conditional      jsonb DEFAULT '{}'
    ) RETURNS SETOF pgmq.message_record LANGUAGE plpgsql AS $body$
    DECLARE
        stop_at timestamptz := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => max_poll_seconds);
    BEGIN
        LOOP
            RETURN QUERY SELECT * FROM pgmq.read(queue_name, vt, qty, conditional);
            EXIT WHEN FOUND OR pg_catalog.clock_timestamp() >= stop_at;
            PERFORM pg_catalog.pg_sleep(greatest(poll_interval_ms, 1) / 1000.0);
        END LOOP;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.pop(queue_name text) RETURNS SETOF pgmq.message_record LANGUAGE plpgsql AS $body$
    BEGIN
        RETURN QUERY EXECUTE pg_catalog.format(
            'WITH found AS MATERIALIZED (
                SELECT q.msg_id
                FROM pgmq.%1$I AS q
                WHERE q.vt <= pg_catalog.clock_timestamp()
                ORDER BY q.msg_id
                LIMIT 1
                FOR UPDATE SKIP LOCKED
            )
            DELETE FROM pgmq.%1$I AS q USING found WHERE q.msg_id = found.msg_id
            RETURNING q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
            pgmq.format_table_name(queue_name, 'q')
        );
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.set_vt(queue_name text, msg_id bigint, vt integer)
    RETURNS SETOF pgmq.message_record LANGUAGE plpgsql AS $body$
    BEGIN
        RETURN QUERY EXECUTE pg_catalog.format(
            'UPDATE pgmq.%I AS q
            SET vt = pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $2)
            WHERE q.msg_id = $1
            RETURNING q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers',
            pgmq.format_table_name(queue_name, 'q')
        ) USING msg_id, vt;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.archive(queue_name text, msg_ids bigint []) RETURNS SETOF bigint
    LANGUAGE plpgsql AS $body$
    BEGIN
        RETURN QUERY EXECUTE pg_catalog.format(
            'WITH removed AS (
                DELETE FROM pgmq.%I AS q WHERE q.msg_id = ANY($1)
                RETURNING q.msg_id, q.read_ct, q.enqueued_at, q.vt, q.message, q.headers
            )
            INSERT INTO pgmq.%I (msg_id, read_ct, enqueued_at, vt, message, headers)
            SELECT r.msg_id, r.read_ct, r.enqueued_at, r.vt, r.message, r.headers FROM removed AS r ORDER BY r.msg_id
            RETURNING msg_id',
            pgmq.format_table_name(queue_name, 'q'), pgmq.format_table_name(queue_name, 'a')
        ) USING msg_ids;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.archive(queue_name text, msg_id bigint) RETURNS boolean LANGUAGE plpgsql AS $body$
    BEGIN
        PERFORM pgmq.archive(queue_name, ARRAY[msg_id]);
        RETURN FOUND;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.delete(queue_name text, msg_ids bigint []) RETURNS SETOF bigint
    LANGUAGE plpgsql AS $body$
    BEGIN
        RETURN QUERY EXECUTE pg_catalog.format(
            'DELETE FROM pgmq.%I AS q WHERE q.msg_id = ANY($1) RETURNING q.msg_id', pgmq.format_table_name(queue_name, 'q')
        ) USING msg_ids;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.delete(queue_name text, msg_id bigint) RETURNS boolean LANGUAGE plpgsql AS $body$
    BEGIN
        PERFORM pgmq.delete(queue_name, ARRAY[msg_id]);
        RETURN FOUND;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.purge_queue(queue_name text) RETURNS bigint LANGUAGE plpgsql AS $body$
    DECLARE
        queue text := pgmq.format_table_name(queue_name, 'q');
        purged bigint;
    BEGIN
        -- No message comes between the count and its removal.
        EXECUTE pg_catalog.format('LOCK TABLE pgmq.%I IN ACCESS EXCLUSIVE MODE', queue);
        EXECUTE pg_catalog.format('SELECT count(*) FROM pgmq.%I', queue) INTO purged;
        EXECUTE pg_catalog.format('TRUNCATE TABLE pgmq.%I', queue);
        RETURN purged;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.list_queues() RETURNS SETOF pgmq.queue_record LANGUAGE sql STABLE AS $body$
        SELECT m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at FROM pgmq.meta AS m ORDER BY m.created_at, m.queue_name
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.metrics(queue_name text) RETURNS pgmq.metrics_result LANGUAGE plpgsql AS $body$
    DECLARE
        queue text := pgmq.format_table_name(queue_name, 'q');
        result pgmq.metrics_result;
    BEGIN
        EXECUTE pg_catalog.format(
            'SELECT $1, count(*), extract(epoch FROM now() - max(q.enqueued_at))::integer,
                extract(epoch FROM now() - min(q.enqueued_at))::integer,
                (SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM pgmq.%I AS s), now(),
                count(*) FILTER (WHERE q.vt <= pg_catalog.clock_timestamp())
            FROM pgmq.%I AS q', queue || '_msg_id_seq', queue
        ) INTO result USING queue_name;
        RETURN result;
    END
    $body$;

    CREATE OR REPLACE FUNCTION pgmq.metrics_all() RETURNS SETOF pgmq.metrics_result LANGUAGE sql AS $body$
        SELECT (pgmq.metrics(m.queue_name)).* FROM pgmq.meta AS m ORDER BY m.created_at, m.queue_name
    $body$;

    GRANT ALL ON SCHEMA pgmq TO postgres;
    GRANT ALL ON ALL TABLES IN SCHEMA pgmq TO postgres;
END
$$;
