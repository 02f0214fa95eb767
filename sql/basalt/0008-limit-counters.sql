-- Rate limits that several servers share, where the database is the store of limits.
-- Unlogged: after a crash of the database all limits start anew, and counting writes nothing to the log.

CREATE UNLOGGED TABLE limit_counters (
    key           text PRIMARY KEY,            -- an HMAC: it contains no address
    level         double precision NOT NULL,   -- tokens left; in a window: events counted; of a grant: attempts left
    updated_at    double precision NOT NULL,   -- seconds since 1970, as all times here
    started_at    double precision NOT NULL,   -- the first event; of a window: its number
    pending       integer NOT NULL DEFAULT 0,  -- tokens taken for attempts whose outcome is not known yet
    pending_until double precision NOT NULL DEFAULT 0,
    expires_at    double precision NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX limit_counters_expires_at_idx ON limit_counters (expires_at);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.limit_counters TO supabase_auth_admin;
    END IF;
END
$$;

-- Takes one token of a bucket that holds `size` tokens, gains `rate` a second and expires `span` seconds after its first
-- event (0: never). Status 0: taken; 1: empty; 2: empty, and attempts that hold tokens are pending.
CREATE FUNCTION take_limit_token(
    the_key text, rate double precision, size double precision, span double precision, reserves boolean,
    OUT status integer, OUT wait double precision
) LANGUAGE plpgsql AS $$
DECLARE
    counter basalt.limit_counters;
    moment double precision;
BEGIN
    status := 0;
    wait := 0;
    LOOP
        SELECT * INTO counter FROM basalt.limit_counters c WHERE c.key = the_key FOR UPDATE;
        EXIT WHEN FOUND;
        moment := extract(epoch FROM clock_timestamp());
        INSERT INTO basalt.limit_counters (key, level, updated_at, started_at, expires_at)
        VALUES (the_key, size, moment, moment, moment + CASE WHEN span > 0 THEN span ELSE 60 END)
        ON CONFLICT (key) DO NOTHING;
    END LOOP;
    moment := extract(epoch FROM clock_timestamp());
    IF span > 0 AND moment - counter.started_at >= span THEN
        counter.level := size;
        counter.updated_at := moment;
        counter.started_at := moment;
    END IF;
    IF moment > counter.pending_until THEN
        counter.pending := 0;
    END IF;
    counter.level := least(counter.level + greatest(moment - counter.updated_at, 0) * rate, size);
    counter.updated_at := greatest(counter.updated_at, moment);
    IF counter.level >= 1 THEN
        counter.level := counter.level - 1;
        IF reserves THEN
            counter.pending := counter.pending + 1;
            counter.pending_until := moment + 30;
        END IF;
    ELSE
        status := CASE WHEN reserves AND counter.pending > 0 THEN 2 ELSE 1 END;
        wait := CASE WHEN size < 1 OR rate <= 0 THEN 86400 ELSE least((1 - counter.level) / rate, 86400) END;
        IF span > 0 THEN
            wait := least(wait, span - (moment - counter.started_at));
        END IF;
    END IF;
    UPDATE basalt.limit_counters c
    SET level = counter.level,
        updated_at = counter.updated_at,
        started_at = counter.started_at,
        pending = counter.pending,
        pending_until = counter.pending_until,
        expires_at = CASE
            WHEN span > 0 THEN counter.started_at + span
            WHEN rate > 0 THEN moment + least((size - counter.level) / rate, 2592000) + 60
            ELSE moment + 2592000
        END
    WHERE c.key = the_key;
END $$;

-- Counts an event of a window of `span` seconds that allows `size`.
CREATE FUNCTION take_limit_of_window(
    the_key text, size double precision, span double precision,
    OUT status integer, OUT wait double precision
) LANGUAGE plpgsql AS $$
DECLARE
    moment double precision := extract(epoch FROM clock_timestamp());
    number double precision := floor(moment / span);
    counted double precision;
BEGIN
    status := 0;
    wait := 0;
    INSERT INTO basalt.limit_counters AS c (key, level, updated_at, started_at, expires_at)
    SELECT the_key, 1, moment, number, (number + 1) * span
    WHERE size >= 1
    ON CONFLICT (key) DO UPDATE
    SET level = CASE WHEN c.started_at < number THEN 1 ELSE c.level + 1 END,
        updated_at = moment,
        started_at = greatest(c.started_at, number),
        expires_at = greatest(c.expires_at, (number + 1) * span)
    WHERE c.started_at < number
       OR c.level + 1 <= size
    RETURNING c.level INTO counted;
    IF counted IS NULL THEN
        status := 1;
        wait := CASE WHEN size < 1 THEN 86400 ELSE (number + 1) * span - moment END;
    END IF;
END $$;

-- Applies the operations in their order, up to the first that is refused. The kinds are those of
-- gotrue-rs/src/ports/limits/shared/operation.rs.
CREATE FUNCTION count_limits(
    kinds text[], keys text[], rates double precision[], sizes double precision[], spans double precision[]
) RETURNS TABLE (status integer, wait double precision) LANGUAGE plpgsql AS $$
DECLARE
    moment double precision;
BEGIN
    -- In the order of the keys, so that two servers never wait for each other.
    IF cardinality(keys) > 1 THEN
        PERFORM 1 FROM basalt.limit_counters c WHERE c.key = ANY (keys) ORDER BY c.key FOR UPDATE;
    END IF;
    FOR i IN 1 .. cardinality(kinds) LOOP
        status := 0;
        wait := 0;
        moment := extract(epoch FROM clock_timestamp());
        CASE kinds[i]
        WHEN 'take', 'reserve' THEN
            SELECT t.status, t.wait INTO status, wait
            FROM basalt.take_limit_token(keys[i], rates[i], sizes[i], spans[i], kinds[i] = 'reserve') t;
        WHEN 'window' THEN
            SELECT t.status, t.wait INTO status, wait FROM basalt.take_limit_of_window(keys[i], sizes[i], spans[i]) t;
        WHEN 'grant' THEN
            INSERT INTO basalt.limit_counters AS c (key, level, updated_at, started_at, expires_at)
            VALUES (keys[i], sizes[i], moment, moment, moment + spans[i])
            ON CONFLICT (key) DO UPDATE
            SET level = excluded.level,
                updated_at = excluded.updated_at,
                expires_at = excluded.expires_at;
        WHEN 'consume' THEN
            UPDATE basalt.limit_counters c
            SET level = c.level - 1,
                updated_at = moment
            WHERE c.key = keys[i]
              AND c.level >= 1
              AND c.expires_at > moment;
            status := CASE WHEN FOUND THEN 0 ELSE 1 END;
        WHEN 'settle', 'refund' THEN
            UPDATE basalt.limit_counters c
            SET level = CASE WHEN kinds[i] = 'refund' THEN least(c.level + 1, sizes[i]) ELSE c.level END,
                pending = greatest(c.pending - 1, 0)
            WHERE c.key = keys[i];
        END CASE;
        RETURN NEXT;
        EXIT WHEN status <> 0;
    END LOOP;
END $$;
