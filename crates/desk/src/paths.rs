//! Where the desk is.

/// The path below which the desk is.
pub const MOUNT: &str = "/_desk";
/// The path below which its API is.
pub const API_PATH: &str = "/_desk/api";
