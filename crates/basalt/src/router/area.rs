//! What answers a request, by its path.

use gateway::Route;

use super::paths::is_below;

/// Also served at the root, where clients of the OAuth server look for it (RFC 8414 §3).
const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server";

/// Services of Supabase that Basalt does not have.
const NOT_SERVED: [(&str, &str); 6] = [
    ("/rest/v1", "the data API"),
    ("/graphql/v1", "GraphQL"),
    ("/storage/v1", "file storage"),
    ("/realtime/v1", "realtime"),
    ("/pg", "the database's administration API"),
    ("/analytics/v1", "log analytics"),
];

/// The service that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Area {
    Auth,
    OAuthMetadata,
    Functions,
    Dev,
    Desk,
    /// The data API; whether the caller is on this machine and needs no key.
    DataApi(bool),
    Storage,
    /// The host of stored content.
    Content,
    /// A service of the operator; whether a caller on this machine needs no key.
    Forwarded(Route, bool),
    NotServed(&'static str, &'static str),
    Shop,
}

impl Area {
    pub(super) fn from_path(path: &str) -> Self {
        let below = |mount: &str| is_below(path, mount);
        if below("/auth/v1") {
            return Self::Auth;
        }
        if below("/functions/v1") {
            return Self::Functions;
        }
        if below("/_dev") {
            return Self::Dev;
        }
        if path == OAUTH_METADATA {
            return Self::OAuthMetadata;
        }
        let foreign = NOT_SERVED.iter().find(|(mount, _)| below(mount));
        foreign.map_or(Self::Shop, |(mount, what)| Self::NotServed(mount, what))
    }

    /// Whether a service beside the auth API reads the token of the request. The auth API reads and judges its own.
    pub(super) fn reads_tokens(self) -> bool {
        matches!(self, Self::Functions | Self::DataApi(_) | Self::Storage | Self::Content | Self::Forwarded(..))
    }

    /// Whether the service takes a token without a scheme.
    pub(super) fn accepts_bare_tokens(self) -> bool {
        match self {
            Self::Storage | Self::Content => true,
            Self::Forwarded(route, _) => route.service == gateway::Service::Storage,
            _ => false,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Auth | Self::OAuthMetadata => "auth",
            Self::Functions => "functions",
            Self::Dev => "dev",
            Self::Desk => "desk",
            Self::DataApi(_) => "rest",
            Self::Storage | Self::Content => "storage",
            Self::Forwarded(route, _) => route.service.name(),
            Self::NotServed(..) => "not_served",
            Self::Shop => "shop",
        }
    }
}
