//! Limits of forwarded requests: `[basalt.upstreams]` of `config.toml`, or the defaults.

use std::time::Duration;

/// Limits of number and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    /// Concurrent requests and WebSockets; further ones get 503.
    pub max_requests: usize,
    /// Those of one network: an address, or the /64 of IPv6. This machine has no such limit.
    pub max_requests_per_network: usize,
    /// Time to connect to a service.
    pub connect_timeout: Duration,
    /// Time from the last part of a request to the head of its response.
    pub response_timeout: Duration,
    /// The same for functions, which may run long.
    pub function_timeout: Duration,
    /// Time that a WebSocket may be silent in both directions.
    pub websocket_idle_timeout: Duration,
}

impl Default for GatewayLimits {
    /// The read timeouts are those of Supabase's gateway.
    fn default() -> Self {
        Self {
            max_requests: 4_096,
            max_requests_per_network: 1_024,
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_mins(1),
            function_timeout: Duration::from_secs(150),
            websocket_idle_timeout: Duration::from_mins(5),
        }
    }
}
