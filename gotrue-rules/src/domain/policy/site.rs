//! Addresses, requests, access tokens.

use std::time::Duration;

/// Where the site and this server are seen from outside, and where a redirect may lead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SitePolicy {
    /// Default redirect target and `{{ .SiteURL }}` of the templates, as the operator wrote it. Required; default empty.
    pub site_url: String,
    /// Public base of this server including the path of a gateway (`https://x.example/auth/v1`): an absolute URL or an
    /// absolute path. Required; default empty.
    pub external_url: String,
    /// Globs of allowed redirect targets with the separators `.` and `/`, in the order given. Default none.
    pub redirect_allow_list: Vec<String>,
    /// Redirects lead to the site's own origin or to what the allow-list matches, by `http`, `https` or a scheme that a
    /// pattern spells out, without user information; to loopback only where the site is there. Default false.
    pub strict_redirects: bool,
    /// Hosts that may stand in mailed links instead of the host of `external_url`, when the request names one of them
    /// in `X-Forwarded-Host`. Default none.
    pub mailer_external_hosts: Vec<String>,
}

/// What holds for every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiPolicy {
    /// After this the request is answered with 504. Default 10 s.
    pub max_request_duration: Duration,
    /// Header of the request that supplies its id; empty: none. Default empty.
    pub request_id_header: String,
    /// Request headers allowed across origins beside the built-in ones. Default none.
    pub cors_allowed_headers: Vec<String>,
    /// Clients never see the database's own text in an error, unless a hook of the operator raised it. Default false.
    pub database_errors_hidden: bool,
    /// Time limit of calls to identity providers and SMS senders. Default 10 s.
    pub outbound_timeout: Duration,
    /// Responses carry `X-Content-Type-Options: nosniff` and, unless they say how long they may be cached,
    /// `Cache-Control: no-store` (RFC 6749 §5.1 with `Pragma: no-cache`). Default false.
    pub security_headers: bool,
    /// Limits of the metadata that a request stores in a user; absent: none. Default absent.
    pub metadata_limits: Option<MetadataLimits>,
}

/// Limits of `user_metadata` and `app_metadata`, each counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataLimits {
    /// Most members of objects and items of arrays, at all depths together.
    pub members: usize,
    /// Most bytes of the JSON text without white space.
    pub bytes: usize,
}

impl MetadataLimits {
    /// The limits of `basalt serve`: 1,000 members, 256 KiB.
    pub const USUAL: Self = Self { members: 1_000, bytes: 256 << 10 };
}

impl Default for ApiPolicy {
    fn default() -> Self {
        Self {
            max_request_duration: Duration::from_secs(10),
            request_id_header: String::new(),
            cors_allowed_headers: Vec::new(),
            database_errors_hidden: false,
            outbound_timeout: Duration::from_secs(10),
            security_headers: false,
            metadata_limits: None,
        }
    }
}

/// The claims of access tokens and who is an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtPolicy {
    /// Audience of new accounts when the request names none in `X-JWT-AUD`. Default empty.
    pub aud: String,
    /// Life of an access token in seconds. Default 3600. A negative one makes tokens that are already expired.
    pub exp: i64,
    /// Role of new accounts. Default empty.
    pub default_group: String,
    /// Role that counts as administrator of accounts. Default `admin`.
    pub admin_group: String,
    /// Roles in a token that open the admin API. Default `service_role`, `supabase_admin`.
    pub admin_roles: Vec<String>,
    /// `iss` of access tokens. Default empty.
    pub issuer: String,
    /// Signing algorithms accepted in a token; absent: those of the configured keys. Default absent.
    pub valid_methods: Option<Vec<String>>,
}

impl Default for JwtPolicy {
    fn default() -> Self {
        Self {
            aud: String::new(),
            exp: 3600,
            default_group: String::new(),
            admin_group: "admin".to_owned(),
            admin_roles: vec!["service_role".to_owned(), "supabase_admin".to_owned()],
            issuer: String::new(),
            valid_methods: None,
        }
    }
}
