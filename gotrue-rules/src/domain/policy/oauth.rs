//! SAML, this server as a provider, providers added at run time, wallets.

use std::time::Duration;

use crate::domain::secret::Secret;

/// SAML single sign-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamlPolicy {
    /// It is served. Default false.
    pub enabled: bool,
    /// Our RSA key: PKCS#1 DER in standard base64; checked when `enabled`, empty otherwise. Default empty.
    pub private_key: Secret,
    /// The key that will follow, in the same form; absent: none. Default absent.
    pub private_key_next: Option<Secret>,
    /// Encrypted assertions are accepted. Default false.
    pub allow_encrypted_assertions: bool,
    /// Life of a relay state. Default 2 min.
    pub relay_state_validity: Duration,
    /// Base of our SAML addresses; absent: the external URL. Default absent.
    pub external_url: Option<String>,
    /// How requests to identity providers are signed. Default RSA with SHA-1.
    pub request_signature: RequestSignature,
    /// Signatures and digests with SHA-1 are not believed. Default false.
    pub sha1_refused: bool,
    /// An assertion signs in once. Default false: for as long as it holds.
    pub assertions_count_once: bool,
    /// Assertions must say all that SAML's profile for browsers demands: for which service they are, that they are for
    /// whoever brings them, and no time to come. Default false: what they leave out is not asked for.
    pub assertions_must_be_complete: bool,
    /// What is told of a refused response leaves out the response, which is full of what is said of a person. Default
    /// false.
    pub refused_response_withheld: bool,
}

/// How a request to an identity provider is signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestSignature {
    /// RSA with SHA-1, as the reference does.
    #[default]
    RsaSha1,
    /// RSA with SHA-256.
    RsaSha256,
}

impl RequestSignature {
    /// Its name in XML signatures.
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
            relay_state_validity: Duration::from_mins(2),
            external_url: None,
            request_signature: RequestSignature::default(),
            sha1_refused: false,
            assertions_count_once: false,
            assertions_must_be_complete: false,
            refused_response_withheld: false,
        }
    }
}

/// This server as an OAuth 2.1 provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthServerPolicy {
    /// It is served. Default false.
    pub enabled: bool,
    /// Clients may register themselves. Default false.
    pub allow_dynamic_registration: bool,
    /// Path of the consent page below the site URL. Default empty.
    pub authorization_path: String,
    /// The whole address of a consent page, where no path below the site URL names one. Default empty: nobody is asked.
    pub consent_page: String,
    /// How long a consent may take. Default 10 min.
    pub authorization_ttl: Duration,
    /// Scope of a request that names none. Default `email`.
    pub default_scope: String,
    /// A redirect URI with a comma is not registered, and none is redirected to that could not be registered. Default
    /// false: it is stored as two, of which only the first was looked at.
    pub commas_refused: bool,
    /// What a client says of itself (its site, its picture) are addresses of the web. Default false: anything with a scheme
    /// will do, `javascript:` too.
    pub web_addresses_only: bool,
    /// Challenges must be hashes of their verifiers (`S256`). Default false: `plain` will do.
    pub plain_challenges_refused: bool,
    /// A parameter that is given twice is refused. Default false: the first counts.
    pub repeated_parameters_refused: bool,
    /// A client's access token opens only what a client needs, and never what changes the account or grants the client
    /// more. Default false: it opens all that the account's own does.
    pub clients_confined: bool,
    /// The sessions of a client end with it. Default false.
    pub deleted_client_signed_out: bool,
    /// What clients are answered is as RFC 6749 and RFC 7591 want it: a refused refresh token and a client that does not
    /// prove itself are told in OAuth's form, a secret comes with its end. Default false: in the API's own form, without.
    pub standard_answers: bool,
    /// A client that presents an authorization code a second time loses the session that the code opened (RFC 6749
    /// §4.1.2); kept in the table `basalt.exchanged_codes`. Default false: the code is refused, the session stays.
    pub replayed_code_revokes: bool,
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
            commas_refused: false,
            web_addresses_only: false,
            plain_challenges_refused: false,
            repeated_parameters_refused: false,
            clients_confined: false,
            deleted_client_signed_out: false,
            standard_answers: false,
            replayed_code_revokes: false,
        }
    }
}

/// Providers that an administrator adds at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomOAuthPolicy {
    /// They may be added and used. Default true.
    pub enabled: bool,
    /// Most of them; absent: no limit. Default absent.
    pub max_providers: Option<usize>,
    /// Base of their callback; absent: the external URL. Default absent.
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
    /// Solana.
    pub solana: Web3ChainPolicy,
    /// Ethereum.
    pub ethereum: Web3ChainPolicy,
    /// The end that an Ethereum message names always counts, not only where it names its start too. Default false.
    pub end_always_counts: bool,
    /// The domain of a message must be that of its URI also where that is `localhost`. Default false.
    pub domain_always_counts: bool,
    /// A signed message opens one session; kept in the table `basalt.limits` until it has expired. Default false.
    pub once_only: bool,
}

/// Sign-in with a wallet of one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web3ChainPolicy {
    /// It is allowed. Default false.
    pub enabled: bool,
    /// Longest validity a signed message may claim. Default 10 min.
    pub maximum_validity: Duration,
}

impl Default for Web3ChainPolicy {
    fn default() -> Self {
        Self { enabled: false, maximum_validity: Duration::from_mins(10) }
    }
}
