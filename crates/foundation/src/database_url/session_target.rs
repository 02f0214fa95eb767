//! `target_session_attrs`: which kind of session is wanted.

/// A value of `target_session_attrs`
/// ([libpq](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-TARGET-SESSION-ATTRS)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionTarget {
    /// `any`: every session.
    #[default]
    Any,
    /// `read-write`: transactions may write.
    ReadWrite,
    /// `read-only`: transactions may not write.
    ReadOnly,
    /// `primary`: the server is not in hot standby mode.
    Primary,
    /// `standby`: the server is in hot standby mode.
    Standby,
    /// `prefer-standby`: a standby if one of the servers is, else any.
    PreferStandby,
}

impl SessionTarget {
    /// All values with their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("any", Self::Any),
        ("read-write", Self::ReadWrite),
        ("read-only", Self::ReadOnly),
        ("primary", Self::Primary),
        ("standby", Self::Standby),
        ("prefer-standby", Self::PreferStandby),
    ];

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
    }

    /// Whether a session of a server in this state is wanted.
    pub fn accepts(self, is_standby: bool, is_read_only: bool) -> bool {
        match self {
            Self::Any | Self::PreferStandby => true,
            Self::ReadWrite => !is_standby && !is_read_only,
            Self::ReadOnly => is_standby || is_read_only,
            Self::Primary => !is_standby,
            Self::Standby => is_standby,
        }
    }

    /// Whether at most one server of a cluster is wanted.
    pub fn is_primary(self) -> bool {
        matches!(self, Self::ReadWrite | Self::Primary)
    }
}
