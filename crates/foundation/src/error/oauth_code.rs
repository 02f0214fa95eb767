//! The values of the member `error` of OAuth responses.

/// Declares the enum from rows: `variant = "text"`.
macro_rules! oauth_error_codes {
    ($(#[doc = $meaning:literal] $variant:ident = $text:literal,)*) => {
        /// An OAuth error code, as in RFC 6749 §4.1.2.1 and §5.2.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum OAuthErrorCode {
            $(
                #[doc = $meaning]
                $variant,
            )*
        }

        impl OAuthErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the value of the member `error`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

oauth_error_codes! {
    /// A parameter is missing, repeated or malformed.
    InvalidRequest = "invalid_request",
    /// The client is unknown, or its authentication failed.
    InvalidClient = "invalid_client",
    /// The authorization code, refresh token or signature is invalid, expired or revoked.
    InvalidGrant = "invalid_grant",
    /// The client is not authorized.
    UnauthorizedClient = "unauthorized_client",
    /// The server or the client does not support the grant type.
    UnsupportedGrantType = "unsupported_grant_type",
    /// The user or the server denied the request.
    AccessDenied = "access_denied",
    /// An internal failure.
    ServerError = "server_error",
    /// The server is overloaded or in maintenance.
    TemporarilyUnavailable = "temporarily_unavailable",
    /// An ID token or its parameters are invalid: GoTrue's word, with a space.
    InvalidIdTokenRequest = "invalid request",
    /// The nonce of an ID token does not match: GoTrue's word, with a space.
    InvalidNonce = "invalid nonce",
}
