//! Where a mailed link leads. Pure: base, path and target come from the caller, who has checked them.

use gotrue_rules::domain::policy::{LinkPaths, MailKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use url::Url;

/// The wire type of a link and the path it leads to, for the kinds that have one.
pub fn of_kind(kind: MailKind, paths: &LinkPaths) -> Option<(&'static str, &str)> {
    match kind {
        MailKind::Invite => Some(("invite", &paths.invite)),
        MailKind::Confirmation => Some(("signup", &paths.confirmation)),
        MailKind::Recovery => Some(("recovery", &paths.recovery)),
        MailKind::MagicLink => Some(("magiclink", &paths.recovery)),
        MailKind::EmailChange => Some(("email_change", &paths.email_change)),
        _ => None,
    }
}

/// What stands in the query of a link, in this order.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The hash of the code, with `pkce_` before it in a PKCE flow.
    pub token: &'a str,
    /// The wire type.
    pub kind: &'a str,
    /// Where the click leads in the end, checked against the allow-list.
    pub redirect_to: &'a str,
}

/// The link: `path` resolved against `base` as a browser would, its query replaced, its fragment kept.
///
/// `base` is an absolute URL or an absolute path; a path gives a link without a host. Absent when `base` and `path`
/// together are no URL.
pub fn build(base: &str, path: &str, query: Query<'_>) -> Option<String> {
    const NOWHERE: &str = "http://nowhere.invalid";
    let here = Url::parse(base).or_else(|_| Url::parse(NOWHERE).and_then(|nowhere| nowhere.join(base))).ok()?;
    let mut target = here.join(path).ok()?;
    let fragment = target.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
    target.set_fragment(None);
    target.set_query(None);
    let place = target.as_str().strip_prefix(NOWHERE).unwrap_or(target.as_str());
    let Query { token, kind, redirect_to } = query;
    Some(format!("{place}?token={token}&type={kind}&redirect_to={}{fragment}", escaped(redirect_to)))
}

/// Escaped as a whole if anything in it would end the parameter, verbatim otherwise.
fn escaped(target: &str) -> String {
    const SAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b' ');
    if target.contains(['&', '=', '#']) {
        percent_encode(target.as_bytes(), SAFE).to_string().replace(' ', "+")
    } else {
        target.to_owned()
    }
}
