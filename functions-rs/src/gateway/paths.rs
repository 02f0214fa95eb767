//! The paths of functions.

/// The path prefix of the functions.
pub(super) const MOUNT: &str = "/functions/v1";

/// The route template of a function.
pub(super) const ROUTE: &str = "/functions/v1/{name}";

/// Splits a path into the function's name and the rest.
/// Nothing is decoded: names need no escaping.
pub(super) fn split_path(path: &str) -> (&str, &str) {
    let path = path.strip_prefix(MOUNT).and_then(|path| path.strip_prefix('/')).unwrap_or_default();
    path.split_at(path.find('/').unwrap_or(path.len()))
}
