-- Purchases of templates, what payment providers reported about them, and the key of download links.
-- Every time is given by the server that writes it.

CREATE TABLE orders (
    id                  uuid NOT NULL,
    number              bigint NOT NULL GENERATED ALWAYS AS IDENTITY, -- the order of writing, shown to the owner
    provider            text NOT NULL,
    provider_reference  text NOT NULL,          -- the payment: a payment intent, a capture, an order
    template            integer NOT NULL,
    template_title      text NOT NULL,          -- as it was at the time of the payment
    buyer_email         text NOT NULL,
    amount_minor        bigint NOT NULL,        -- what was paid, in the smallest unit of the currency
    currency            text NOT NULL,          -- ISO 4217, in capitals
    state               text NOT NULL,
    is_test             boolean NOT NULL,
    locale              text NOT NULL,          -- the language of the mails
    paid_at             timestamptz NOT NULL,
    delivered_at        timestamptz,            -- the first download
    refunded_at         timestamptz,
    last_downloaded_at  timestamptz,
    downloads           integer NOT NULL DEFAULT 0,
    downloads_left      integer NOT NULL,
    download_generation integer NOT NULL DEFAULT 1, -- links of other generations have ended
    download_expires_at timestamptz NOT NULL,
    mails               uuid[] NOT NULL DEFAULT '{}', -- the mails with links, in the outbox
    CONSTRAINT orders_pkey PRIMARY KEY (id),
    CONSTRAINT orders_number_key UNIQUE (number),
    CONSTRAINT orders_provider_reference_key UNIQUE (provider, provider_reference),
    CONSTRAINT orders_state_check CHECK (state IN ('paid', 'delivered', 'refunded')),
    CONSTRAINT orders_refunded_check CHECK ((state = 'refunded') = (refunded_at IS NOT NULL)),
    CONSTRAINT orders_downloads_check CHECK (downloads >= 0 AND downloads_left >= 0)
);

CREATE INDEX orders_template_number_idx ON orders (template, number);
CREATE INDEX orders_paid_at_idx ON orders (paid_at);

-- An event is stored once, whatever was done with it; a repeated one changes nothing.
CREATE TABLE payment_events (
    provider           text NOT NULL,
    event_id           text NOT NULL,
    kind               text NOT NULL,           -- payment, refund, or the provider's name of another event
    outcome            text NOT NULL,
    provider_reference text,
    amount_minor       bigint,                  -- for a refund: all that was returned until then
    detail             text,
    received_at        timestamptz NOT NULL,
    CONSTRAINT payment_events_pkey PRIMARY KEY (provider, event_id)
);

CREATE INDEX payment_events_reference_idx ON payment_events (provider, provider_reference);

-- The key that signs download links, one row.
CREATE TABLE download_keys (
    id         smallint NOT NULL,
    secret     text NOT NULL,          -- 32 bytes, hexadecimal
    created_at timestamptz NOT NULL,
    CONSTRAINT download_keys_pkey PRIMARY KEY (id),
    CONSTRAINT download_keys_id_check CHECK (id = 1),
    CONSTRAINT download_keys_secret_check CHECK (length(secret) = 64)
);

DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON basalt.orders, basalt.payment_events, basalt.download_keys
            TO supabase_auth_admin;
    END IF;
END
$$;
