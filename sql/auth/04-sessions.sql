-- Being signed in: sessions, their refresh tokens, and how each was proven.

CREATE TABLE sessions (
    id                     uuid NOT NULL,
    user_id                uuid NOT NULL,
    created_at             timestamptz,
    updated_at             timestamptz,
    factor_id              uuid,
    aal                    aal_level,
    not_after              timestamptz,
    refreshed_at           timestamp, -- without a zone, as UTC
    user_agent             text,
    ip                     inet,
    tag                    text,
    oauth_client_id        uuid,
    refresh_token_hmac_key text,
    refresh_token_counter  bigint,
    scopes                 text,
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT sessions_oauth_client_id_fkey FOREIGN KEY (oauth_client_id) REFERENCES oauth_clients (id) ON DELETE CASCADE,
    CONSTRAINT sessions_scopes_length CHECK (char_length(scopes) <= 4096)
);

CREATE INDEX sessions_user_id_idx ON sessions (user_id);
CREATE INDEX user_id_created_at_idx ON sessions (user_id, created_at);
CREATE INDEX sessions_not_after_idx ON sessions (not_after DESC);
CREATE INDEX sessions_oauth_client_id_idx ON sessions (oauth_client_id);

-- The account's id is text here and refers to nothing; deleting an account reaches its tokens by their session.
CREATE TABLE refresh_tokens (
    instance_id uuid,
    id          bigserial,
    token       varchar(255),
    user_id     varchar(255),
    revoked     boolean,
    created_at  timestamptz,
    updated_at  timestamptz,
    parent      varchar(255),
    session_id  uuid,
    CONSTRAINT refresh_tokens_pkey PRIMARY KEY (id),
    CONSTRAINT refresh_tokens_token_unique UNIQUE (token),
    CONSTRAINT refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE INDEX refresh_tokens_instance_id_idx ON refresh_tokens (instance_id);
CREATE INDEX refresh_tokens_instance_id_user_id_idx ON refresh_tokens (instance_id, user_id);
CREATE INDEX refresh_tokens_parent_idx ON refresh_tokens (parent);
CREATE INDEX refresh_tokens_session_id_revoked_idx ON refresh_tokens (session_id, revoked);
CREATE INDEX refresh_tokens_updated_at_idx ON refresh_tokens (updated_at DESC);

CREATE TABLE mfa_amr_claims (
    session_id            uuid NOT NULL,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    authentication_method text NOT NULL,
    id                    uuid NOT NULL,
    CONSTRAINT amr_id_pk PRIMARY KEY (id),
    CONSTRAINT mfa_amr_claims_session_id_authentication_method_pkey UNIQUE (session_id, authentication_method),
    CONSTRAINT mfa_amr_claims_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
