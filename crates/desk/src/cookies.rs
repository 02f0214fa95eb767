//! Cookies of requests to the desk.

use http::HeaderMap;
use http::header::COOKIE;

/// The cookie of a known device; see the names of the session's.
pub(crate) const DEVICE: &str = "basalt_desk_device";
pub(crate) const SECURE_DEVICE: &str = "__Host-basalt_desk_device";

/// The values of a cookie that are tried: pages of neighbouring hosts, and on plain HTTP of other ports, can set one of the
/// same name, which browsers may send first.
const MOST_VALUES: usize = 8;

/// Finds the values of a cookie by its names with and without the prefix, of which only the first counts on HTTPS.
pub(crate) fn find_cookies<'h>(headers: &'h HeaderMap, [secure, plain]: [&str; 2], is_https: bool) -> Vec<&'h str> {
    let names = [Some(secure), Some(plain).filter(|_| !is_https)];
    let values = names.into_iter().flatten().flat_map(|wanted| {
        let pairs = list_pairs(headers).filter(move |pair| name_of(pair) == wanted.as_bytes());
        pairs.filter_map(move |pair| std::str::from_utf8(pair.get(wanted.len() + 1..)?).ok())
    });
    values.take(MOST_VALUES).collect()
}

/// Lists the pairs of name and value, which other pages may have filled with any bytes.
pub(crate) fn list_pairs(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let fields = headers.get_all(COOKIE).iter();
    fields.flat_map(|field| field.as_bytes().split(|byte| *byte == b';')).map(<[u8]>::trim_ascii)
}

/// Returns the name of a pair; all of it if it has no value.
pub(crate) fn name_of(pair: &[u8]) -> &[u8] {
    pair.split(|byte| *byte == b'=').next().unwrap_or_default()
}
