-- How often the owner is written to, and whose an idempotency key is.

ALTER TABLE submissions
    -- Whether a mail has told the owner of it, or nobody is to be told; else the next digest does.
    ADD COLUMN is_announced boolean NOT NULL DEFAULT true,
    -- A key belongs to whoever sends it: nobody learns or takes what another one has sent.
    DROP CONSTRAINT submissions_idempotency_key_key,
    ADD CONSTRAINT submissions_peer_idempotency_key_key UNIQUE (peer, idempotency_key);

CREATE INDEX submissions_unannounced_idx ON submissions (created_at) WHERE NOT is_announced;

-- A row for each mail about a single submission that may be written in an hour. Who takes one locks it alone, and nobody
-- waits for it: what finds none free is told in the digest.
CREATE TABLE notice_slots (
    slot    integer NOT NULL,
    free_at timestamptz NOT NULL,
    CONSTRAINT notice_slots_pkey PRIMARY KEY (slot)
);

INSERT INTO notice_slots (slot, free_at)
SELECT slot, '-infinity'
FROM generate_series(1, 1000) AS slot;

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, UPDATE ON basalt.notice_slots TO supabase_auth_admin;
    END IF;
END
$$;
