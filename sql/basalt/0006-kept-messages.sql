-- Messages that are kept for development and tests: mails of the auth API, SMS, and mails of an application.

ALTER TABLE outbox
    ADD COLUMN channel          text NOT NULL DEFAULT 'email',
    ADD COLUMN sender           text,                       -- of an application's mail
    ADD COLUMN raw              bytea,                      -- an application's mail as it was received (RFC 5322)
    ADD COLUMN attachment_count integer NOT NULL DEFAULT 0, -- of an application's mail
    ADD COLUMN read_at          timestamptz,
    ADD CONSTRAINT outbox_channel_check CHECK (channel IN ('email', 'sms')),
    -- discarded: there is neither a mail server nor a reader, so the content was not stored
    DROP CONSTRAINT outbox_sent_to_check,
    ADD CONSTRAINT outbox_sent_to_check CHECK (sent_to IN ('server', 'inbox', 'discarded'));

-- The application's mails, of which a limited number is kept.
CREATE INDEX outbox_received_idx ON outbox (number) WHERE raw IS NOT NULL;
