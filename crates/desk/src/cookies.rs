//! Cookies of requests to the desk.

use http::HeaderMap;
use http::header::COOKIE;

/// The cookie of a known device; see the names of the session's.
pub(crate) const DEVICE: &str = "basalt_desk_device";
pub(crate) const SECURE_DEVICE: &str = "__Host-basalt_desk_device";

/// Finds a cookie by its names with and without the prefix.
pub(crate) fn find_cookie_named<'h>(
    headers: &'h HeaderMap,
    [secure, plain]: [&str; 2],
    is_https: bool,
) -> Option<&'h str> {
    let find = |wanted: &str| {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(';')).find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == wanted).then_some(value)
        })
    };
    find(secure).or_else(|| find(plain).filter(|_| !is_https))
}
