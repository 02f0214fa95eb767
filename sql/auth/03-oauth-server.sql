-- This server as the one others sign in with: applications, what they asked for, what accounts allowed them.

CREATE TABLE oauth_clients (
    id                         uuid NOT NULL,
    client_secret_hash         text,
    registration_type          oauth_registration_type NOT NULL,
    redirect_uris              text NOT NULL,
    grant_types                text NOT NULL,
    client_name                text,
    client_uri                 text,
    logo_uri                   text,
    created_at                 timestamptz NOT NULL DEFAULT now(),
    updated_at                 timestamptz NOT NULL DEFAULT now(),
    deleted_at                 timestamptz,
    client_type                oauth_client_type NOT NULL DEFAULT 'confidential',
    token_endpoint_auth_method text NOT NULL,
    CONSTRAINT oauth_clients_pkey PRIMARY KEY (id),
    CONSTRAINT oauth_clients_client_name_length CHECK (char_length(client_name) <= 1024),
    CONSTRAINT oauth_clients_client_uri_length CHECK (char_length(client_uri) <= 2048),
    CONSTRAINT oauth_clients_logo_uri_length CHECK (char_length(logo_uri) <= 2048),
    CONSTRAINT oauth_clients_token_endpoint_auth_method_check
        CHECK (token_endpoint_auth_method IN ('client_secret_basic', 'client_secret_post', 'none'))
);

CREATE INDEX oauth_clients_deleted_at_idx ON oauth_clients (deleted_at);

CREATE TABLE oauth_authorizations (
    id                    uuid NOT NULL,
    authorization_id      text NOT NULL,
    client_id             uuid NOT NULL,
    user_id               uuid,
    redirect_uri          text NOT NULL,
    scope                 text NOT NULL,
    state                 text,
    resource              text,
    code_challenge        text,
    code_challenge_method code_challenge_method,
    response_type         oauth_response_type NOT NULL DEFAULT 'code',
    status                oauth_authorization_status NOT NULL DEFAULT 'pending',
    authorization_code    text,
    created_at            timestamptz NOT NULL DEFAULT now(),
    expires_at            timestamptz NOT NULL DEFAULT now() + interval '3 minutes',
    approved_at           timestamptz,
    nonce                 text,
    CONSTRAINT oauth_authorizations_pkey PRIMARY KEY (id),
    CONSTRAINT oauth_authorizations_authorization_id_key UNIQUE (authorization_id),
    CONSTRAINT oauth_authorizations_authorization_code_key UNIQUE (authorization_code),
    CONSTRAINT oauth_authorizations_client_id_fkey FOREIGN KEY (client_id) REFERENCES oauth_clients (id) ON DELETE CASCADE,
    CONSTRAINT oauth_authorizations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT oauth_authorizations_redirect_uri_length CHECK (char_length(redirect_uri) <= 2048),
    CONSTRAINT oauth_authorizations_scope_length CHECK (char_length(scope) <= 4096),
    CONSTRAINT oauth_authorizations_state_length CHECK (char_length(state) <= 4096),
    CONSTRAINT oauth_authorizations_resource_length CHECK (char_length(resource) <= 2048),
    CONSTRAINT oauth_authorizations_code_challenge_length CHECK (char_length(code_challenge) <= 128),
    CONSTRAINT oauth_authorizations_authorization_code_length CHECK (char_length(authorization_code) <= 255),
    CONSTRAINT oauth_authorizations_nonce_length CHECK (char_length(nonce) <= 255),
    CONSTRAINT oauth_authorizations_expires_at_future CHECK (expires_at > created_at)
);

CREATE INDEX oauth_auth_pending_exp_idx ON oauth_authorizations (expires_at) WHERE status = 'pending';

CREATE TABLE oauth_consents (
    id         uuid NOT NULL,
    user_id    uuid NOT NULL,
    client_id  uuid NOT NULL,
    scopes     text NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    CONSTRAINT oauth_consents_pkey PRIMARY KEY (id),
    CONSTRAINT oauth_consents_user_client_unique UNIQUE (user_id, client_id),
    CONSTRAINT oauth_consents_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT oauth_consents_client_id_fkey FOREIGN KEY (client_id) REFERENCES oauth_clients (id) ON DELETE CASCADE,
    CONSTRAINT oauth_consents_scopes_not_empty CHECK (char_length(trim(scopes)) > 0),
    CONSTRAINT oauth_consents_scopes_length CHECK (char_length(scopes) <= 2048),
    CONSTRAINT oauth_consents_revoked_after_granted CHECK (revoked_at IS NULL OR revoked_at >= granted_at)
);

CREATE INDEX oauth_consents_active_client_idx ON oauth_consents (client_id) WHERE revoked_at IS NULL;
CREATE INDEX oauth_consents_active_user_client_idx ON oauth_consents (user_id, client_id) WHERE revoked_at IS NULL;
CREATE INDEX oauth_consents_user_order_idx ON oauth_consents (user_id, granted_at DESC);
