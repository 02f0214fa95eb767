-- How the owner of the shop handles submissions: status, notes, replies, search, and where new ones are announced.

ALTER TABLE submissions
    ADD COLUMN status text NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'answered', 'closed', 'spam')),
    -- The address of the account that was signed in.
    ADD COLUMN account_email text,
    -- The addresses in the text; null: stored by a server that did not record them.
    ADD COLUMN senders text[],
    -- 0 to 100, as it was when the submission came.
    ADD COLUMN spam_score integer NOT NULL DEFAULT 0 CHECK (spam_score BETWEEN 0 AND 100);

CREATE INDEX submissions_status_created_at_idx ON submissions (status, created_at);

-- Finds equal texts of all senders.
CREATE INDEX submissions_text_idx ON submissions (md5(description), created_at);

-- The words of a submission; the parts of an address are words of their own.
CREATE FUNCTION submission_words(description text, account_email text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector('pg_catalog.simple'::regconfig,
                       translate(description || ' ' || coalesce(account_email, ''),
                                 '@.:/\_-+''"#%&=?<>()[]{}|*!,;', repeat(' ', 30)))
$$;

CREATE INDEX submissions_words_idx ON submissions USING gin (submission_words(description, account_email));

-- The mails about a submission. How far each got is in outbox, which keeps delivered mails for a limited time.
CREATE TABLE submission_messages (
    id         uuid NOT NULL, -- that of outbox
    submission uuid NOT NULL,
    kind       text NOT NULL,
    recipient  text NOT NULL,
    subject    text NOT NULL,
    text       text,          -- of a reply, without the quoted submission
    author     text,          -- of a reply: who wrote it
    message_id text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT submission_messages_pkey PRIMARY KEY (id),
    CONSTRAINT submission_messages_submission_fkey FOREIGN KEY (submission) REFERENCES submissions (id) ON DELETE CASCADE,
    CONSTRAINT submission_messages_kind_check CHECK (kind IN ('notice', 'confirmation', 'reply'))
);

CREATE INDEX submission_messages_submission_idx ON submission_messages (submission, created_at);

CREATE TABLE submission_notes (
    id         uuid NOT NULL,
    submission uuid NOT NULL,
    text       text NOT NULL,
    author     text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT submission_notes_pkey PRIMARY KEY (id),
    CONSTRAINT submission_notes_submission_fkey FOREIGN KEY (submission) REFERENCES submissions (id) ON DELETE CASCADE
);

CREATE INDEX submission_notes_submission_idx ON submission_notes (submission, created_at);

-- Calls of the owner's webhook, written in the transaction of what they tell of and delivered afterwards.
CREATE TABLE submission_events (
    id              uuid NOT NULL, -- the same for every attempt
    submission      uuid NOT NULL,
    created_at      timestamptz NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL,
    leased_until    timestamptz,   -- a server is at it until then
    last_error      text,
    delivered_at    timestamptz,
    failed_at       timestamptz,   -- given up
    CONSTRAINT submission_events_pkey PRIMARY KEY (id),
    CONSTRAINT submission_events_submission_fkey FOREIGN KEY (submission) REFERENCES submissions (id) ON DELETE CASCADE
);

CREATE INDEX submission_events_submission_idx ON submission_events (submission);
CREATE INDEX submission_events_waiting_idx ON submission_events (next_attempt_at)
    WHERE delivered_at IS NULL AND failed_at IS NULL;

-- The days whose daily digest was written: each is written once.
CREATE TABLE submission_digests (
    day        date NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT submission_digests_pkey PRIMARY KEY (day)
);

-- As for the other tables: on a database of our own the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON basalt.submission_messages, basalt.submission_notes, basalt.submission_events, basalt.submission_digests
            TO supabase_auth_admin;
    END IF;
END
$$;
