-- The descriptions that tools show beside the objects. They belong to the schema as its reference has it: a comparison of
-- two databases finds no difference.

COMMENT ON FUNCTION email() IS 'Deprecated. Use auth.jwt() -> ''email'' instead.';
COMMENT ON FUNCTION role() IS 'Deprecated. Use auth.jwt() -> ''role'' instead.';
COMMENT ON FUNCTION uid() IS 'Deprecated. Use auth.jwt() -> ''sub'' instead.';
COMMENT ON TABLE audit_log_entries IS 'Auth: Audit trail for user actions.';
COMMENT ON TABLE flow_state IS 'Stores metadata for all OAuth/SSO login flows';
COMMENT ON TABLE identities IS 'Auth: Stores identities associated to a user.';
COMMENT ON COLUMN identities.email IS 'Auth: Email is a generated column that references the optional email property in the identity_data';
COMMENT ON TABLE instances IS 'Auth: Manages users across multiple sites.';
COMMENT ON TABLE mfa_amr_claims IS 'auth: stores authenticator method reference claims for multi factor authentication';
COMMENT ON TABLE mfa_challenges IS 'auth: stores metadata about challenge requests made';
COMMENT ON TABLE mfa_factors IS 'auth: stores metadata about factors';
COMMENT ON COLUMN mfa_factors.last_webauthn_challenge_data IS 'Stores the latest WebAuthn challenge data including attestation/assertion for customer verification';
COMMENT ON TABLE oauth_client_states IS 'Stores OAuth states for third-party provider authentication flows where Supabase acts as the OAuth client.';
COMMENT ON TABLE refresh_tokens IS 'Auth: Store of tokens used to refresh JWT tokens once they expire.';
COMMENT ON TABLE saml_providers IS 'Auth: Manages SAML Identity Provider connections.';
COMMENT ON TABLE saml_relay_states IS 'Auth: Contains SAML Relay State information for each Service Provider initiated login.';
COMMENT ON TABLE schema_migrations IS 'Auth: Manages updates to the auth system.';
COMMENT ON TABLE sessions IS 'Auth: Stores session data associated to a user.';
COMMENT ON COLUMN sessions.not_after IS 'Auth: Not after is a nullable column that contains a timestamp after which the session should be regarded as expired.';
COMMENT ON COLUMN sessions.refresh_token_hmac_key IS 'Holds a HMAC-SHA256 key used to sign refresh tokens for this session.';
COMMENT ON COLUMN sessions.refresh_token_counter IS 'Holds the ID (counter) of the last issued refresh token.';
COMMENT ON TABLE sso_domains IS 'Auth: Manages SSO email address domain mapping to an SSO Identity Provider.';
COMMENT ON TABLE sso_providers IS 'Auth: Manages SSO identity provider information; see saml_providers for SAML.';
COMMENT ON COLUMN sso_providers.resource_id IS 'Auth: Uniquely identifies a SSO provider according to a user-chosen resource ID (case insensitive), useful in infrastructure as code.';
COMMENT ON TABLE users IS 'Auth: Stores user login data within a secure schema.';
COMMENT ON COLUMN users.is_sso_user IS 'Auth: Set this column to true when the account comes from SSO. These accounts can have duplicate emails.';
COMMENT ON INDEX identities_email_idx IS 'Auth: Ensures indexed queries on the email column';
COMMENT ON INDEX users_email_partial_key IS 'Auth: A partial unique index that applies only when is_sso_user is false';
