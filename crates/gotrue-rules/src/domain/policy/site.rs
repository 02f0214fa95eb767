//! Policies for URLs, requests and access tokens.

use std::time::Duration;

/// Public URLs and allowed redirects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SitePolicy {
    /// Default redirect target and `{{ .SiteURL }}` of the templates, as configured.
    /// Required; default empty.
    pub site_url: String,
    /// Public base URL of this server, with the path of a gateway (`https://x.example/auth/v1`).
    ///
    /// An absolute URL or an absolute path. Required; default empty.
    pub external_url: String,
    /// Globs of allowed redirect targets with the separators `.` and `/`, in configured order.
    /// Default none.
    pub redirect_allow_list: Vec<String>,
    /// Redirects are validated strictly. Default false.
    ///
    /// They lead to the site's origin or a target of the allow-list, by `http`, `https` or a scheme that a pattern
    /// contains literally, without user information; to loopback only if the site is there.
    pub is_redirect_validation_strict: bool,
    /// Hosts that replace the host of `external_url` in links if `X-Forwarded-Host` names them.
    /// Default none.
    pub mailer_external_hosts: Vec<String>,
}

/// Settings of all requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiPolicy {
    /// Time limit of a request, which is then answered with 504. Default 10 s.
    pub max_request_duration: Duration,
    /// Request header with the request id; empty: none. Default empty.
    pub request_id_header: String,
    /// Additional allowed CORS request headers. Default none.
    pub cors_allowed_headers: Vec<String>,
    /// Database messages are hidden from clients, unless a hook raised them. Default false.
    pub are_database_errors_hidden: bool,
    /// Time limit of calls to identity providers and SMS providers. Default 10 s.
    pub outbound_timeout: Duration,
    /// Responses have security headers. Default false.
    ///
    /// These are `X-Content-Type-Options: nosniff` and, unless a response sets its caching, `Cache-Control: no-store`
    /// (RFC 6749 §5.1 with `Pragma: no-cache`).
    pub has_security_headers: bool,
    /// Size limits of user metadata; absent: none. Default absent.
    pub metadata_limits: Option<MetadataLimits>,
    /// `GET /health` shows the version of this server beside the one whose behaviour it has. Default false.
    pub shows_own_version: bool,
}

/// Size limits of `user_metadata` and of `app_metadata`, counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataLimits {
    /// Maximum number of object members and array items, at all depths together.
    pub members: usize,
    /// Maximum size of the JSON text without white space, in bytes.
    pub bytes: usize,
}

impl MetadataLimits {
    /// The limits of `basalt serve`: 1,000 members, 256 KiB.
    pub const RECOMMENDED: Self = Self { members: 1_000, bytes: 256 << 10 };
}

impl Default for ApiPolicy {
    fn default() -> Self {
        Self {
            max_request_duration: Duration::from_secs(10),
            request_id_header: String::new(),
            cors_allowed_headers: Vec::new(),
            are_database_errors_hidden: false,
            outbound_timeout: Duration::from_secs(10),
            has_security_headers: false,
            metadata_limits: None,
            shows_own_version: false,
        }
    }
}

/// Access token claims and administrator roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtPolicy {
    /// Audience of new users without an `X-JWT-AUD` header. Default empty.
    pub aud: String,
    /// Lifetime of an access token in seconds; a negative one issues expired tokens. Default 3600.
    pub exp: i64,
    /// Role of new users. Default empty.
    pub default_group: String,
    /// Role of administrators. Default `admin`.
    pub admin_group: String,
    /// Token roles with access to the admin API. Default `service_role`, `supabase_admin`.
    pub admin_roles: Vec<String>,
    /// `iss` of access tokens. Default empty.
    pub issuer: String,
    /// Accepted signing algorithms; absent: those of the configured keys. Default absent.
    pub valid_methods: Option<Vec<String>>,
    /// Whether bits of a signature's base64url that encode nothing must be zero. Default false.
    pub is_signature_encoding_strict: bool,
    /// Whether a token with the header parameter `crit` is rejected (RFC 7515 §4.1.11). Default false: it is ignored.
    pub is_critical_header_rejected: bool,
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
            is_signature_encoding_strict: false,
            is_critical_header_rejected: false,
        }
    }
}
