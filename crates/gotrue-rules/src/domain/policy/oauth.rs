//! Policies for SAML, the OAuth server, custom providers and wallets.

use std::time::Duration;

use foundation::secret::Secret;

/// SAML single sign-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamlPolicy {
    /// SAML is enabled. Default false.
    pub enabled: bool,
    /// The service provider's RSA key: PKCS#1 DER in base64; validated if `enabled`, else empty.
    /// Default empty.
    pub private_key: Secret,
    /// The next key, in the same form; absent: none. Default absent.
    pub private_key_next: Option<Secret>,
    /// Encrypted assertions are accepted. Default false.
    pub allow_encrypted_assertions: bool,
    /// Lifetime of a relay state. Default 2 min.
    pub relay_state_validity: Duration,
    /// Base of the SAML URLs; absent: the external URL. Default absent.
    pub external_url: Option<String>,
    /// The signature algorithm of requests to identity providers. Default RSA with SHA-1.
    pub request_signature: RequestSignature,
    /// Signatures and digests with SHA-1 are rejected. Default false.
    pub is_sha1_rejected: bool,
    /// An assertion is accepted once. Default false: repeatedly while it is valid.
    pub are_assertions_single_use: bool,
    /// Assertions must have all elements of the SAML web browser SSO profile. Default false.
    ///
    /// These are audience, bearer subject confirmation and expiry; without the setting, missing elements are accepted.
    pub must_assertions_be_complete: bool,
    /// Asserted addresses must lie in the domains of their provider, if it has any. Default false.
    pub requires_provider_domain: bool,
    /// Errors omit the rejected response, which contains personal data. Default false.
    pub is_rejected_response_hidden: bool,
}

/// The signature algorithm of requests to identity providers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestSignature {
    /// RSA with SHA-1, as in GoTrue.
    #[default]
    RsaSha1,
    /// RSA with SHA-256.
    RsaSha256,
}

impl RequestSignature {
    /// Returns the XML signature algorithm URI.
    pub fn uri(self) -> &'static str {
        match self {
            Self::RsaSha1 => "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
            Self::RsaSha256 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        }
    }
}

impl Default for SamlPolicy {
    fn default() -> Self {
        Self {
            enabled: false,
            private_key: Secret::default(),
            private_key_next: None,
            allow_encrypted_assertions: false,
            requires_provider_domain: false,
            relay_state_validity: Duration::from_mins(2),
            external_url: None,
            request_signature: RequestSignature::default(),
            is_sha1_rejected: false,
            are_assertions_single_use: false,
            must_assertions_be_complete: false,
            is_rejected_response_hidden: false,
        }
    }
}

/// The OAuth 2.1 server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthServerPolicy {
    /// The server is enabled. Default false.
    pub enabled: bool,
    /// Dynamic client registration is enabled. Default false.
    pub allow_dynamic_registration: bool,
    /// Path of the consent page below the site URL. Default empty.
    pub authorization_path: String,
    /// The URL of a consent page, if no path below the site URL is configured. Default empty: none.
    pub consent_page: String,
    /// Lifetime of an authorization request. Default 10 min.
    pub authorization_ttl: Duration,
    /// Scope of a request without one. Default `email`.
    pub default_scope: String,
    /// Redirect URIs with a comma are rejected, at registration and at redirects. Default false.
    ///
    /// The database stores such a URI as two, of which only the first was validated.
    pub is_comma_rejected: bool,
    /// Redirect URIs with a scheme that opens documents or other programs, an unclear host or over 2,000 characters are
    /// rejected, at registration and at redirects. Default false.
    pub are_redirect_uris_strict: bool,
    /// `client_uri` and `logo_uri` must be web URLs. Default false: any scheme, even `javascript:`.
    pub requires_web_uris: bool,
    /// Challenges must use `S256`. Default false: `plain` is accepted too.
    pub is_plain_challenge_rejected: bool,
    /// A repeated parameter is rejected. Default false: the first one counts.
    pub is_repeated_parameter_rejected: bool,
    /// A client's access token can use only the routes that a client needs. Default false: all user routes.
    pub are_clients_restricted: bool,
    /// A client's tokens, and what it reads with them, contain of its user only what its scopes name. Default false.
    pub are_claims_limited_by_scopes: bool,
    /// Clients may request the scopes of services (`functions`, `rest`, …), which open these to their tokens. Default
    /// false.
    pub has_service_scopes: bool,
    /// An error of a dynamically registered client is shown here, not redirected to its URI. Default false.
    ///
    /// No user has approved the client yet, and registration is open (RFC 9700 §4.11.2).
    pub are_unconfirmed_redirects_rejected: bool,
    /// A public client whose redirect URI is loopback or not `https` gets no code without a new consent. Default false.
    pub requires_consent_of_native_clients: bool,
    /// Deleting a client ends its sessions. Default false.
    pub should_sign_out_deleted_clients: bool,
    /// Errors and responses follow RFC 6749 and RFC 7591. Default false: as in GoTrue.
    ///
    /// A rejected refresh token and a failed client authentication become OAuth errors, and a client secret is returned
    /// with `client_secret_expires_at`.
    pub has_standard_responses: bool,
    /// Replay of an authorization code ends the session of the first exchange (RFC 6749 §4.1.2).
    ///
    /// Uses the table `basalt.exchanged_codes`. Default false: the code is rejected, the session stays.
    pub should_revoke_on_code_replay: bool,
}

impl Default for OAuthServerPolicy {
    fn default() -> Self {
        Self {
            enabled: false,
            allow_dynamic_registration: false,
            authorization_path: String::new(),
            consent_page: String::new(),
            authorization_ttl: Duration::from_mins(10),
            default_scope: "email".to_owned(),
            is_comma_rejected: false,
            are_redirect_uris_strict: false,
            requires_web_uris: false,
            is_plain_challenge_rejected: false,
            is_repeated_parameter_rejected: false,
            are_clients_restricted: false,
            are_claims_limited_by_scopes: false,
            has_service_scopes: false,
            are_unconfirmed_redirects_rejected: false,
            requires_consent_of_native_clients: false,
            should_sign_out_deleted_clients: false,
            has_standard_responses: false,
            should_revoke_on_code_replay: false,
        }
    }
}

/// Custom OAuth providers, which an administrator adds at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomOAuthPolicy {
    /// Custom providers can be added and used. Default true.
    pub enabled: bool,
    /// Maximum number; absent: no limit. Default absent.
    pub max_providers: Option<usize>,
    /// Base of the callback URL; absent: the external URL. Default absent.
    pub external_url: Option<String>,
}

impl Default for CustomOAuthPolicy {
    fn default() -> Self {
        Self { enabled: true, max_providers: None, external_url: None }
    }
}

/// Sign-in with a wallet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Web3Policy {
    pub solana: Web3ChainPolicy,
    pub ethereum: Web3ChainPolicy,
    /// The expiry of an Ethereum message is always enforced, not only if it has a start. Default false.
    pub is_expiry_always_enforced: bool,
    /// The domain of a message must match its URI, even on `localhost`. Default false.
    pub is_domain_always_enforced: bool,
    /// A signed message is accepted once; stored in `basalt.limits` until it has expired. Default false.
    pub are_messages_single_use: bool,
}

/// Sign-in with wallets of one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web3ChainPolicy {
    /// Sign-in is allowed. Default false.
    pub enabled: bool,
    /// Maximum validity of a signed message. Default 10 min.
    pub maximum_validity: Duration,
}

impl Default for Web3ChainPolicy {
    fn default() -> Self {
        Self { enabled: false, maximum_validity: Duration::from_mins(10) }
    }
}
