//! Builds the links in mails. The caller has validated base, path and redirect URL.

use gotrue_rules::domain::policy::{LinkPaths, MailKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use url::Url;

/// Returns the wire type and the configured path of the link for kinds of mails that have one.
pub fn find_type_and_path(kind: MailKind, paths: &LinkPaths) -> Option<(&'static str, &str)> {
    match kind {
        MailKind::Invite => Some(("invite", &paths.invite)),
        MailKind::Confirmation => Some(("signup", &paths.confirmation)),
        MailKind::Recovery => Some(("recovery", &paths.recovery)),
        MailKind::MagicLink => Some(("magiclink", &paths.recovery)),
        MailKind::EmailChange => Some(("email_change", &paths.email_change)),
        _ => None,
    }
}

/// The query parameters of a link, in this order.
#[derive(Debug, Clone, Copy)]
pub struct LinkParameters<'a> {
    /// The token hash, prefixed with `pkce_` in a PKCE flow.
    pub token: &'a str,
    /// The wire type.
    pub kind: &'a str,
    /// The final redirect URL, checked against the allow list.
    pub redirect_to: &'a str,
}

/// Builds a link: `path` resolved against `base`, its query replaced, its fragment kept.
///
/// `base` is an absolute URL or an absolute path; a path gives a link without a host. Returns `None` if `base` and
/// `path` together are not a URL.
pub fn build_link(base: &str, path: &str, query: LinkParameters<'_>) -> Option<String> {
    const PLACEHOLDER_BASE: &str = "http://nowhere.invalid";
    let here =
        Url::parse(base).or_else(|_| Url::parse(PLACEHOLDER_BASE).and_then(|nowhere| nowhere.join(base))).ok()?;
    let mut target = here.join(path).ok()?;
    let fragment = target.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
    target.set_fragment(None);
    target.set_query(None);
    let place = target.as_str().strip_prefix(PLACEHOLDER_BASE).unwrap_or(target.as_str());
    let LinkParameters { token, kind, redirect_to } = query;
    Some(format!("{place}?token={token}&type={kind}&redirect_to={}{fragment}", escape_target(redirect_to)))
}

/// Percent-encodes the target if it contains a character that would end the parameter.
fn escape_target(target: &str) -> String {
    const SAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b' ');
    if target.contains(['&', '=', '#']) {
        percent_encode(target.as_bytes(), SAFE).to_string().replace(' ', "+")
    } else {
        target.to_owned()
    }
}
