//! Well-known issuers and their aliases.

pub const GOOGLE: &str = "https://accounts.google.com";
/// `LinkedIn`.
pub const LINKEDIN: &str = "https://www.linkedin.com/oauth";
pub const KAKAO: &str = "https://kauth.kakao.com";
/// Vercel's marketplace.
pub const VERCEL_MARKETPLACE: &str = "https://marketplace.vercel.com";
/// Facebook: tokens of its limited login.
pub const FACEBOOK: &str = "https://www.facebook.com";
pub const SNAPCHAT: &str = "https://accounts.snapchat.com/accounts/oauth2/token";

/// Apple's old and new issuer. The discovery document of one may name the other.
const APPLE: [&str; 2] = ["https://appleid.apple.com", "https://account.apple.com"];
/// Google's issuer in some of its tokens.
const GOOGLE_IN_TOKENS: &str = "accounts.google.com";
/// Prefix and suffix around the tenant in Microsoft's issuers, by token version (v2.0, v1.0).
const AZURE: [(&str, &str); 2] = [("https://login.microsoftonline.com/", "/v2.0"), ("https://sts.windows.net/", "/")];
/// Aliases in a base URL that stand for many tenants and issue no tokens.
const TENANT_ALIASES: [&str; 3] = ["common", "organizations", "consumers"];
/// The aliases known to the reference.
///
/// It takes `consumers` for a tenant and so refuses its users at the end of a redirect, which stays as it is.
const REFERENCE_TENANT_ALIASES: [&str; 2] = ["common", "organizations"];

/// Whether this is an issuer of Apple's.
pub fn is_apple(issuer: &str) -> bool {
    APPLE.contains(&issuer)
}

/// Whether this is a v2.0 issuer of a Microsoft tenant, optionally with a trailing slash.
pub fn is_azure(issuer: &str) -> bool {
    let (host, end) = AZURE[0];
    let rest = issuer.strip_prefix(host).map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    rest.and_then(|rest| rest.strip_suffix(end)).is_some_and(|tenant| !tenant.is_empty() && !tenant.contains('/'))
}

/// The tenant in an issuer of either version of Microsoft's tokens.
/// Only a valid tenant name is accepted: the issuer is also requested as a URL and must not reach another path of that
/// host.
pub fn azure_tenant(issuer: &str) -> Option<&str> {
    let tenant = AZURE.iter().find_map(|(host, end)| issuer.strip_prefix(host)?.strip_suffix(end))?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let is_tenant = tenant.bytes().all(is_name) && tenant.bytes().any(|byte| byte.is_ascii_alphanumeric());
    is_tenant.then_some(tenant)
}

/// Whether the reference accepts the tokens of every tenant with the base URL of this issuer.
pub fn is_multi_tenant_issuer(issuer: &str) -> bool {
    azure_tenant(issuer).is_some_and(|tenant| REFERENCE_TENANT_ALIASES.contains(&tenant))
}

/// The tenant that the operator's base URL names; `None` for the multi-tenant bases.
pub fn azure_tenant_of_base(base: &str) -> Option<&str> {
    let rest = base.strip_prefix(AZURE[0].0)?;
    let tenant = rest.strip_suffix('/').unwrap_or(rest);
    let is_one = !tenant.is_empty() && !tenant.contains('/') && !TENANT_ALIASES.contains(&tenant);
    is_one.then_some(tenant)
}

/// Whether the issuer's discovery document may contain this issuer: the same one or Apple's alias.
pub fn is_accepted_document_issuer(issuer: &str, in_document: &str) -> bool {
    issuer == in_document || (is_apple(issuer) && is_apple(in_document))
}

/// Whether the issuer's tokens may contain this issuer: as in its document, or Google's alias.
pub fn is_accepted_token_issuer(issuer: &str, in_token: &str) -> bool {
    is_accepted_document_issuer(issuer, in_token) || (issuer == GOOGLE && in_token == GOOGLE_IN_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_tenant_is_parsed_from_issuer() {
        let table = [
            ("https://login.microsoftonline.com/tenant-1/v2.0", true, Some("tenant-1")),
            ("https://login.microsoftonline.com/contoso.example.com/v2.0", true, Some("contoso.example.com")),
            ("https://login.microsoftonline.com//v2.0", false, None),
            ("https://login.microsoftonline.com/t/v2.0/", true, None),
            ("https://login.microsoftonline.com/a/b/v2.0", false, None),
            ("https://login.microsoftonline.com/../v2.0", true, None),
            ("https://login.microsoftonline.com/x?y=/v2.0", true, None),
            ("https://login.microsoftonline.com/x%2f..#/v2.0", true, None),
            ("https://login.microsoftonline.com/common/oauth2/v2.0/authorize?redirect_uri=https:", false, None),
            ("https://login.microsoftonline.com.example.com/t/v2.0", false, None),
            ("http://login.microsoftonline.com/t/v2.0", false, None),
            ("https://sts.windows.net/tenant-1/", false, Some("tenant-1")),
            ("https://sts.windows.net/tenant-1", false, None),
            ("https://sts.windows.net/a/b/", false, None),
            ("https://accounts.google.com", false, None),
            ("", false, None),
        ];
        for (issuer, is_one, tenant) in table {
            assert_eq!((is_azure(issuer), azure_tenant(issuer)), (is_one, tenant), "{issuer}");
        }
    }

    #[test]
    fn azure_base_names_at_most_one_tenant() {
        assert_eq!(azure_tenant_of_base("https://login.microsoftonline.com/t-1"), Some("t-1"));
        assert_eq!(azure_tenant_of_base("https://login.microsoftonline.com/t-1/"), Some("t-1"));
        for many in ["common", "organizations/", "consumers"] {
            let base = format!("https://login.microsoftonline.com/{many}");
            assert_eq!(azure_tenant_of_base(&base), None, "{many}");
        }
        assert_eq!(azure_tenant_of_base(""), None);
        assert_eq!(azure_tenant_of_base("http://127.0.0.1:1/azure"), None);
    }

    #[test]
    fn only_apple_and_google_issuers_have_aliases() {
        assert!(is_accepted_document_issuer("https://appleid.apple.com", "https://account.apple.com"));
        assert!(!is_accepted_document_issuer("https://appleid.apple.com", GOOGLE));
        assert!(!is_accepted_document_issuer("https://a.example.com", "https://a.example.com/"));
        assert!(is_accepted_token_issuer(GOOGLE, "accounts.google.com"));
        assert!(is_accepted_token_issuer("https://appleid.apple.com", "https://account.apple.com"));
        assert!(!is_accepted_token_issuer("https://appleid.apple.com", GOOGLE));
        assert!(!is_accepted_token_issuer("https://www.facebook.com", "www.facebook.com"));
    }
}
