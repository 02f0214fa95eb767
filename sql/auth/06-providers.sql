-- Signing in with somebody else's account: flows under way, providers an operator added, companies' SAML.

CREATE TABLE flow_state (
    id                     uuid NOT NULL,
    user_id                uuid,
    auth_code              text,
    code_challenge_method  code_challenge_method,
    code_challenge         text,
    provider_type          text NOT NULL,
    provider_access_token  text,
    provider_refresh_token text,
    created_at             timestamptz,
    updated_at             timestamptz,
    authentication_method  text NOT NULL,
    auth_code_issued_at    timestamptz,
    invite_token           text,
    referrer               text,
    oauth_client_state_id  uuid,
    linking_target_id      uuid,
    email_optional         boolean NOT NULL DEFAULT false,
    CONSTRAINT flow_state_pkey PRIMARY KEY (id)
);

CREATE INDEX flow_state_created_at_idx ON flow_state (created_at DESC);
CREATE INDEX idx_auth_code ON flow_state (auth_code);
CREATE INDEX idx_user_id_auth_method ON flow_state (user_id, authentication_method);

CREATE TABLE oauth_client_states (
    id            uuid NOT NULL,
    provider_type text NOT NULL,
    code_verifier text,
    created_at    timestamptz NOT NULL,
    CONSTRAINT oauth_client_states_pkey PRIMARY KEY (id)
);

CREATE INDEX idx_oauth_client_states_created_at ON oauth_client_states (created_at);

CREATE TABLE custom_oauth_providers (
    id                      uuid NOT NULL DEFAULT gen_random_uuid(),
    provider_type           text NOT NULL,
    identifier              text NOT NULL,
    name                    text NOT NULL,
    client_id               text NOT NULL,
    client_secret           text NOT NULL,
    acceptable_client_ids   text[] NOT NULL DEFAULT '{}',
    scopes                  text[] NOT NULL DEFAULT '{}',
    pkce_enabled            boolean NOT NULL DEFAULT true,
    attribute_mapping       jsonb NOT NULL DEFAULT '{}',
    authorization_params    jsonb NOT NULL DEFAULT '{}',
    enabled                 boolean NOT NULL DEFAULT true,
    email_optional          boolean NOT NULL DEFAULT false,
    issuer                  text,
    discovery_url           text,
    skip_nonce_check        boolean NOT NULL DEFAULT false,
    cached_discovery        jsonb,
    discovery_cached_at     timestamptz,
    authorization_url       text,
    token_url               text,
    userinfo_url            text,
    jwks_uri                text,
    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz NOT NULL DEFAULT now(),
    custom_claims_allowlist text[] NOT NULL DEFAULT '{}',
    CONSTRAINT custom_oauth_providers_pkey PRIMARY KEY (id),
    CONSTRAINT custom_oauth_providers_identifier_key UNIQUE (identifier),
    CONSTRAINT custom_oauth_providers_provider_type_check CHECK (provider_type IN ('oauth2', 'oidc')),
    CONSTRAINT custom_oauth_providers_identifier_format CHECK (identifier ~ '^[a-z0-9][a-z0-9:-]{0,48}[a-z0-9]$'),
    CONSTRAINT custom_oauth_providers_name_length CHECK (char_length(name) >= 1 AND char_length(name) <= 100),
    CONSTRAINT custom_oauth_providers_client_id_length CHECK (char_length(client_id) >= 1 AND char_length(client_id) <= 512),

    -- What each kind cannot do without.
    CONSTRAINT custom_oauth_providers_oidc_requires_issuer CHECK (provider_type <> 'oidc' OR issuer IS NOT NULL),
    CONSTRAINT custom_oauth_providers_oauth2_requires_endpoints CHECK (
        provider_type <> 'oauth2'
        OR (authorization_url IS NOT NULL AND token_url IS NOT NULL AND userinfo_url IS NOT NULL)
    ),

    -- Providers are asked by https only.
    CONSTRAINT custom_oauth_providers_oidc_issuer_https
        CHECK (provider_type <> 'oidc' OR issuer IS NULL OR issuer LIKE 'https://%'),
    CONSTRAINT custom_oauth_providers_oidc_discovery_url_https
        CHECK (provider_type <> 'oidc' OR discovery_url IS NULL OR discovery_url LIKE 'https://%'),
    CONSTRAINT custom_oauth_providers_authorization_url_https
        CHECK (authorization_url IS NULL OR authorization_url LIKE 'https://%'),
    CONSTRAINT custom_oauth_providers_token_url_https CHECK (token_url IS NULL OR token_url LIKE 'https://%'),
    CONSTRAINT custom_oauth_providers_userinfo_url_https CHECK (userinfo_url IS NULL OR userinfo_url LIKE 'https://%'),
    CONSTRAINT custom_oauth_providers_jwks_uri_https CHECK (jwks_uri IS NULL OR jwks_uri LIKE 'https://%'),

    CONSTRAINT custom_oauth_providers_issuer_length
        CHECK (issuer IS NULL OR (char_length(issuer) >= 1 AND char_length(issuer) <= 2048)),
    CONSTRAINT custom_oauth_providers_discovery_url_length CHECK (discovery_url IS NULL OR char_length(discovery_url) <= 2048),
    CONSTRAINT custom_oauth_providers_authorization_url_length
        CHECK (authorization_url IS NULL OR char_length(authorization_url) <= 2048),
    CONSTRAINT custom_oauth_providers_token_url_length CHECK (token_url IS NULL OR char_length(token_url) <= 2048),
    CONSTRAINT custom_oauth_providers_userinfo_url_length CHECK (userinfo_url IS NULL OR char_length(userinfo_url) <= 2048),
    CONSTRAINT custom_oauth_providers_jwks_uri_length CHECK (jwks_uri IS NULL OR char_length(jwks_uri) <= 2048)
);

CREATE INDEX custom_oauth_providers_created_at_idx ON custom_oauth_providers (created_at);
CREATE INDEX custom_oauth_providers_enabled_idx ON custom_oauth_providers (enabled);
CREATE INDEX custom_oauth_providers_identifier_idx ON custom_oauth_providers (identifier);
CREATE INDEX custom_oauth_providers_provider_type_idx ON custom_oauth_providers (provider_type);

-- "= NULL" below is never true, so those checks only ever look at the length: kept as the schema has them.
CREATE TABLE sso_providers (
    id          uuid NOT NULL,
    resource_id text,
    created_at  timestamptz,
    updated_at  timestamptz,
    disabled    boolean,
    CONSTRAINT sso_providers_pkey PRIMARY KEY (id),
    CONSTRAINT "resource_id not empty" CHECK (resource_id = NULL OR char_length(resource_id) > 0)
);

CREATE UNIQUE INDEX sso_providers_resource_id_idx ON sso_providers (lower(resource_id));
CREATE INDEX sso_providers_resource_id_pattern_idx ON sso_providers (resource_id text_pattern_ops);

CREATE TABLE sso_domains (
    id              uuid NOT NULL,
    sso_provider_id uuid NOT NULL,
    domain          text NOT NULL,
    created_at      timestamptz,
    updated_at      timestamptz,
    CONSTRAINT sso_domains_pkey PRIMARY KEY (id),
    CONSTRAINT sso_domains_sso_provider_id_fkey FOREIGN KEY (sso_provider_id) REFERENCES sso_providers (id) ON DELETE CASCADE,
    CONSTRAINT "domain not empty" CHECK (char_length(domain) > 0)
);

CREATE INDEX sso_domains_sso_provider_id_idx ON sso_domains (sso_provider_id);
CREATE UNIQUE INDEX sso_domains_domain_idx ON sso_domains (lower(domain));

CREATE TABLE saml_providers (
    id                uuid NOT NULL,
    sso_provider_id   uuid NOT NULL,
    entity_id         text NOT NULL,
    metadata_xml      text NOT NULL,
    metadata_url      text,
    attribute_mapping jsonb,
    created_at        timestamptz,
    updated_at        timestamptz,
    name_id_format    text,
    CONSTRAINT saml_providers_pkey PRIMARY KEY (id),
    CONSTRAINT saml_providers_entity_id_key UNIQUE (entity_id),
    CONSTRAINT saml_providers_sso_provider_id_fkey FOREIGN KEY (sso_provider_id) REFERENCES sso_providers (id) ON DELETE CASCADE,
    CONSTRAINT "entity_id not empty" CHECK (char_length(entity_id) > 0),
    CONSTRAINT "metadata_xml not empty" CHECK (char_length(metadata_xml) > 0),
    CONSTRAINT "metadata_url not empty" CHECK (metadata_url = NULL OR char_length(metadata_url) > 0)
);

CREATE INDEX saml_providers_sso_provider_id_idx ON saml_providers (sso_provider_id);

CREATE TABLE saml_relay_states (
    id              uuid NOT NULL,
    sso_provider_id uuid NOT NULL,
    request_id      text NOT NULL,
    for_email       text,
    redirect_to     text,
    created_at      timestamptz,
    updated_at      timestamptz,
    flow_state_id   uuid,
    CONSTRAINT saml_relay_states_pkey PRIMARY KEY (id),
    CONSTRAINT saml_relay_states_sso_provider_id_fkey
        FOREIGN KEY (sso_provider_id) REFERENCES sso_providers (id) ON DELETE CASCADE,
    CONSTRAINT saml_relay_states_flow_state_id_fkey FOREIGN KEY (flow_state_id) REFERENCES flow_state (id) ON DELETE CASCADE,
    CONSTRAINT "request_id not empty" CHECK (char_length(request_id) > 0)
);

CREATE INDEX saml_relay_states_sso_provider_id_idx ON saml_relay_states (sso_provider_id);
CREATE INDEX saml_relay_states_for_email_idx ON saml_relay_states (for_email);
CREATE INDEX saml_relay_states_created_at_idx ON saml_relay_states (created_at DESC);
