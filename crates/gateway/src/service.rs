//! The services of Supabase that requests can be forwarded to.

/// A service behind the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The data API: PostgREST.
    Rest,
    /// GraphQL, which PostgREST serves as the function `graphql`.
    GraphQl,
    /// File storage.
    Storage,
    /// Realtime: WebSocket and HTTP.
    Realtime,
    /// Edge functions.
    Functions,
    /// The administration API of the database: postgres-meta.
    Meta,
    /// The dashboard.
    Studio,
}

impl Service {
    pub const ALL: [Self; 7] =
        [Self::Rest, Self::GraphQl, Self::Storage, Self::Realtime, Self::Functions, Self::Meta, Self::Studio];

    /// Returns the name, which is also the key in `[basalt.upstreams]`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::GraphQl => "graphql",
            Self::Storage => "storage",
            Self::Realtime => "realtime",
            Self::Functions => "functions",
            Self::Meta => "meta",
            Self::Studio => "studio",
        }
    }

    /// Returns whether the service has a place in arrays of [`Service::ALL`]'s length.
    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().position(|service| *service == self).unwrap_or_default()
    }

    /// Returns whether responses may contain what others have written: uploaded files, rows, results of functions.
    ///
    /// The dashboard is an application that the operator installed; its pages run scripts.
    pub(crate) fn has_foreign_content(self) -> bool {
        self != Self::Studio
    }

    /// Returns whether pages of any origin may read the responses.
    ///
    /// Supabase's gateway allows it for all services but postgres-meta. The dashboard is a page of the same origin.
    pub fn has_public_cors(self) -> bool {
        !matches!(self, Self::Meta | Self::Studio)
    }
}
