-- What visitors send and what is mailed. Every time is given by the server that writes it.

CREATE TABLE submissions (
    id              uuid NOT NULL,
    description     text NOT NULL,
    created_at      timestamptz NOT NULL,
    user_id         uuid,          -- the account that was signed in, as its token said
    peer            cidr NOT NULL, -- where it came from: an address, or the /64 of a customer
    idempotency_key text,
    CONSTRAINT submissions_pkey PRIMARY KEY (id),
    CONSTRAINT submissions_idempotency_key_key UNIQUE (idempotency_key),
    CONSTRAINT submissions_description_check CHECK (char_length(description) BETWEEN 1 AND 1000)
);

CREATE INDEX submissions_created_at_idx ON submissions (created_at);

-- Finds what the same visitor has just sent.
CREATE INDEX submissions_peer_created_at_idx ON submissions (peer, created_at);

-- A bucket per thing that is limited. What is missing in it is told as time: when it will be full again, so that no row needs
-- touching while it fills. Who updates a row holds it until the transaction ends: two at once queue up.
CREATE TABLE limits (
    key        text NOT NULL,        -- what is limited and for whom: submission/192.0.2.1/32
    full_at    timestamptz NOT NULL,
    room       interval NOT NULL,    -- how long an empty bucket takes to fill: full_at is never further away
    refused_at timestamptz,          -- when the last one was refused; null: it was let through
    CONSTRAINT limits_pkey PRIMARY KEY (key)
);

CREATE INDEX limits_full_at_idx ON limits (full_at);

-- Mails, written in the transaction of what they tell of and delivered afterwards.
CREATE TABLE outbox (
    id              uuid NOT NULL,
    number          bigint NOT NULL GENERATED ALWAYS AS IDENTITY, -- the order of writing
    purpose         text NOT NULL,
    recipient       text NOT NULL,
    subject         text NOT NULL,
    html            text NOT NULL,        -- emptied once a mail server has taken the mail, like text, code and link
    text            text,
    headers         jsonb NOT NULL,       -- [["Reply-To", "…"], …]
    code            text,
    link            text,
    message_id      text NOT NULL,        -- the same for every attempt
    created_at      timestamptz NOT NULL,
    attempts        integer NOT NULL,     -- begun, whatever came of them
    next_attempt_at timestamptz NOT NULL,
    leased_until    timestamptz,          -- a worker is at it until then
    give_up_at      timestamptz NOT NULL, -- no attempt begins after it
    last_error      text,
    sent_at         timestamptz,
    sent_to         text,
    failed_at       timestamptz,          -- given up
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_message_id_key UNIQUE (message_id),
    CONSTRAINT outbox_sent_to_check CHECK (sent_to IN ('server', 'inbox')),
    CONSTRAINT outbox_sent_check CHECK ((sent_at IS NULL) = (sent_to IS NULL)),
    CONSTRAINT outbox_end_check CHECK (sent_at IS NULL OR failed_at IS NULL)
);

-- What is still to be delivered, the next first.
CREATE INDEX outbox_waiting_idx ON outbox (next_attempt_at, number) WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX outbox_failed_at_idx ON outbox (failed_at) WHERE failed_at IS NOT NULL;
CREATE INDEX outbox_sent_at_idx ON outbox (sent_at) WHERE sent_at IS NOT NULL;

-- The development inbox, all of it and by address.
CREATE INDEX outbox_inbox_number_idx ON outbox (number) WHERE sent_to = 'inbox';
CREATE INDEX outbox_inbox_recipient_idx ON outbox (lower(recipient), number) WHERE sent_to = 'inbox';

-- On a database of our own a superuser makes all this, and the server works as the auth server's role.
DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA basalt TO supabase_auth_admin;
        GRANT SELECT ON basalt.migrations TO supabase_auth_admin;
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON basalt.submissions, basalt.limits, basalt.outbox
            TO supabase_auth_admin;
    END IF;
END
$$;
