//! Replies of a cluster that name another node.

/// The node that a cluster names in place of an answer.
///
/// Source: <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The host; `None` for that of the node which answered.
    pub host: Option<String>,
    pub port: u16,
    /// Whether only this command goes there (`ASK`), because the keys are being moved.
    pub is_once: bool,
}

impl std::fmt::Display for Redirection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host.as_deref().unwrap_or_default(), self.port)
    }
}

/// Parses `MOVED slot host:port` or `ASK slot host:port`; `None` for another error.
pub fn parse_redirection(text: &str) -> Option<Redirection> {
    let (kind, rest) = text.split_once(' ')?;
    let is_once = match kind {
        "MOVED" => false,
        "ASK" => true,
        _ => return None,
    };
    let (host, port) = rest.split_whitespace().nth(1)?.rsplit_once(':')?;
    // A node that does not know its own name has `?`.
    let host = Some(host).filter(|host| !host.is_empty() && *host != "?").map(str::to_owned);
    Some(Redirection { host, port: port.parse().ok()?, is_once })
}
