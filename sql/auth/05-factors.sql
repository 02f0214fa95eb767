-- A second proof beside the password, and passkeys that need none.

CREATE TABLE mfa_factors (
    id                           uuid NOT NULL,
    user_id                      uuid NOT NULL,
    friendly_name                text,
    factor_type                  factor_type NOT NULL,
    status                       factor_status NOT NULL,
    created_at                   timestamptz NOT NULL,
    updated_at                   timestamptz NOT NULL,
    secret                       text,
    phone                        text,
    last_challenged_at           timestamptz,
    web_authn_credential         jsonb,
    web_authn_aaguid             uuid,
    last_webauthn_challenge_data jsonb,
    CONSTRAINT mfa_factors_pkey PRIMARY KEY (id),
    -- Of the whole table: two challenges in the same microsecond refuse one another.
    CONSTRAINT mfa_factors_last_challenged_at_key UNIQUE (last_challenged_at),
    CONSTRAINT mfa_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX mfa_factors_user_id_idx ON mfa_factors (user_id);
CREATE INDEX factor_id_created_at_idx ON mfa_factors (user_id, created_at);
CREATE UNIQUE INDEX unique_phone_factor_per_user ON mfa_factors (user_id, phone);
CREATE UNIQUE INDEX mfa_factors_user_friendly_name_unique
    ON mfa_factors (friendly_name, user_id) WHERE trim(friendly_name) <> '';

CREATE TABLE mfa_challenges (
    id                     uuid NOT NULL,
    factor_id              uuid NOT NULL,
    created_at             timestamptz NOT NULL,
    verified_at            timestamptz,
    ip_address             inet NOT NULL,
    otp_code               text,
    web_authn_session_data jsonb,
    CONSTRAINT mfa_challenges_pkey PRIMARY KEY (id),
    CONSTRAINT mfa_challenges_auth_factor_id_fkey FOREIGN KEY (factor_id) REFERENCES mfa_factors (id) ON DELETE CASCADE
);

CREATE INDEX mfa_challenge_created_at_idx ON mfa_challenges (created_at DESC);

CREATE TABLE webauthn_credentials (
    id               uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id          uuid NOT NULL,
    credential_id    bytea NOT NULL,
    public_key       bytea NOT NULL,
    attestation_type text NOT NULL DEFAULT '',
    aaguid           uuid,
    sign_count       bigint NOT NULL DEFAULT 0,
    transports       jsonb NOT NULL DEFAULT '[]',
    backup_eligible  boolean NOT NULL DEFAULT false,
    backed_up        boolean NOT NULL DEFAULT false,
    friendly_name    text NOT NULL DEFAULT '',
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    last_used_at     timestamptz,
    CONSTRAINT webauthn_credentials_pkey PRIMARY KEY (id),
    CONSTRAINT webauthn_credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX webauthn_credentials_credential_id_key ON webauthn_credentials (credential_id);
CREATE INDEX webauthn_credentials_user_id_idx ON webauthn_credentials (user_id);

CREATE TABLE webauthn_challenges (
    id             uuid NOT NULL DEFAULT gen_random_uuid(),
    user_id        uuid,
    challenge_type text NOT NULL,
    session_data   jsonb NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz NOT NULL,
    CONSTRAINT webauthn_challenges_pkey PRIMARY KEY (id),
    CONSTRAINT webauthn_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT webauthn_challenges_challenge_type_check
        CHECK (challenge_type IN ('signup', 'registration', 'authentication'))
);

CREATE INDEX webauthn_challenges_user_id_idx ON webauthn_challenges (user_id);
CREATE INDEX webauthn_challenges_expires_at_idx ON webauthn_challenges (expires_at);
