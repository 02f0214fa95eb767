-- Who there is: accounts, the identities they sign in with, the tokens mailed to them, and what they did.

CREATE TABLE users (
    instance_id                 uuid,
    id                          uuid NOT NULL,
    aud                         varchar(255),
    role                        varchar(255),
    email                       varchar(255),
    encrypted_password          varchar(255),
    email_confirmed_at          timestamptz,
    invited_at                  timestamptz,
    confirmation_token          varchar(255),
    confirmation_sent_at        timestamptz,
    recovery_token              varchar(255),
    recovery_sent_at            timestamptz,
    email_change_token_new      varchar(255),
    email_change                varchar(255),
    email_change_sent_at        timestamptz,
    last_sign_in_at             timestamptz,
    raw_app_meta_data           jsonb,
    raw_user_meta_data          jsonb,
    is_super_admin              boolean,
    created_at                  timestamptz,
    updated_at                  timestamptz,
    -- The phone columns became text after their defaults were written: the defaults are still varchar.
    phone                       text DEFAULT NULL::varchar,
    phone_confirmed_at          timestamptz,
    phone_change                text DEFAULT ''::varchar,
    phone_change_token          varchar(255) DEFAULT '',
    phone_change_sent_at        timestamptz,
    confirmed_at                timestamptz GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
    email_change_token_current  varchar(255) DEFAULT '',
    email_change_confirm_status smallint DEFAULT 0,
    banned_until                timestamptz,
    reauthentication_token      varchar(255) DEFAULT '',
    reauthentication_sent_at    timestamptz,
    is_sso_user                 boolean NOT NULL DEFAULT false,
    deleted_at                  timestamptz,
    is_anonymous                boolean NOT NULL DEFAULT false,
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_phone_key UNIQUE (phone),
    CONSTRAINT users_email_change_confirm_status_check CHECK (email_change_confirm_status BETWEEN 0 AND 2)
);

CREATE INDEX users_instance_id_idx ON users (instance_id);
CREATE INDEX users_instance_id_email_idx ON users (instance_id, lower(email));
CREATE INDEX users_is_anonymous_idx ON users (is_anonymous);

-- An address is taken once, except by accounts that come from a company's identity provider.
CREATE UNIQUE INDEX users_email_partial_key ON users (email) WHERE is_sso_user = false;

-- A token leads to one account. Empty values, and the digits alone that were stored long ago, may repeat.
CREATE UNIQUE INDEX confirmation_token_idx
    ON users (confirmation_token) WHERE confirmation_token !~ '^[0-9 ]*$';
CREATE UNIQUE INDEX recovery_token_idx
    ON users (recovery_token) WHERE recovery_token !~ '^[0-9 ]*$';
CREATE UNIQUE INDEX email_change_token_current_idx
    ON users (email_change_token_current) WHERE email_change_token_current !~ '^[0-9 ]*$';
CREATE UNIQUE INDEX email_change_token_new_idx
    ON users (email_change_token_new) WHERE email_change_token_new !~ '^[0-9 ]*$';
CREATE UNIQUE INDEX reauthentication_token_idx
    ON users (reauthentication_token) WHERE reauthentication_token !~ '^[0-9 ]*$';

CREATE TABLE identities (
    provider_id     text NOT NULL,
    user_id         uuid NOT NULL,
    identity_data   jsonb NOT NULL,
    provider        text NOT NULL,
    last_sign_in_at timestamptz,
    created_at      timestamptz,
    updated_at      timestamptz,
    email           text GENERATED ALWAYS AS (lower(identity_data ->> 'email')) STORED,
    id              uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT identities_pkey PRIMARY KEY (id),
    CONSTRAINT identities_provider_id_provider_unique UNIQUE (provider_id, provider),
    CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX identities_user_id_idx ON identities (user_id);
CREATE INDEX identities_email_idx ON identities (email text_pattern_ops);

-- The times of this table carry no zone: they are UTC by the clock of the server that writes them.
CREATE TABLE one_time_tokens (
    id         uuid NOT NULL,
    user_id    uuid NOT NULL,
    token_type one_time_token_type NOT NULL,
    token_hash text NOT NULL,
    relates_to text NOT NULL,
    created_at timestamp NOT NULL DEFAULT now(),
    updated_at timestamp NOT NULL DEFAULT now(),
    CONSTRAINT one_time_tokens_pkey PRIMARY KEY (id),
    CONSTRAINT one_time_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT one_time_tokens_token_hash_check CHECK (char_length(token_hash) > 0)
);

CREATE UNIQUE INDEX one_time_tokens_user_id_token_type_key ON one_time_tokens (user_id, token_type);
CREATE INDEX one_time_tokens_token_hash_hash_idx ON one_time_tokens USING hash (token_hash);
CREATE INDEX one_time_tokens_relates_to_hash_idx ON one_time_tokens USING hash (relates_to);

CREATE TABLE audit_log_entries (
    instance_id uuid,
    id          uuid NOT NULL,
    payload     json,
    created_at  timestamptz,
    ip_address  varchar(64) NOT NULL DEFAULT '',
    CONSTRAINT audit_log_entries_pkey PRIMARY KEY (id)
);

CREATE INDEX audit_logs_instance_id_idx ON audit_log_entries (instance_id);

-- Nothing reads or writes it any more; it is part of the schema all the same.
CREATE TABLE instances (
    id              uuid NOT NULL,
    uuid            uuid,
    raw_base_config text,
    created_at      timestamptz,
    updated_at      timestamptz,
    CONSTRAINT instances_pkey PRIMARY KEY (id)
);
