//! Issuers that everybody knows: their names, and which of them are one and the same.

/// Google.
pub const GOOGLE: &str = "https://accounts.google.com";
/// `LinkedIn`.
pub const LINKEDIN: &str = "https://www.linkedin.com/oauth";
/// Kakao.
pub const KAKAO: &str = "https://kauth.kakao.com";
/// Vercel's marketplace.
pub const VERCEL_MARKETPLACE: &str = "https://marketplace.vercel.com";
/// Facebook: tokens of its limited login.
pub const FACEBOOK: &str = "https://www.facebook.com";
/// Snapchat.
pub const SNAPCHAT: &str = "https://accounts.snapchat.com/accounts/oauth2/token";

/// Apple, by its older name and by its newer one. Its document may be found at one of them and name the other.
const APPLE: [&str; 2] = ["https://appleid.apple.com", "https://account.apple.com"];
/// How Google names itself in some of its tokens.
const GOOGLE_IN_TOKENS: &str = "accounts.google.com";
/// Where Microsoft's tenants are, by version of their tokens, and what follows the tenant.
const AZURE: [(&str, &str); 2] = [("https://login.microsoftonline.com/", "/v2.0"), ("https://sts.windows.net/", "/")];
/// Names in a tenant's place that stand for many tenants: no token is issued by them.
const MANY_TENANTS: [&str; 3] = ["common", "organizations", "consumers"];

/// Whether this is one of Apple's names.
pub fn is_apple(issuer: &str) -> bool {
    APPLE.contains(&issuer)
}

/// Whether this is a tenant of Microsoft's in the version of today, perhaps with a slash at its end.
pub fn is_azure(issuer: &str) -> bool {
    let (host, end) = AZURE[0];
    let rest = issuer.strip_prefix(host).map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    rest.and_then(|rest| rest.strip_suffix(end)).is_some_and(|tenant| !tenant.is_empty() && !tenant.contains('/'))
}

/// The tenant of an issuer that a token of Microsoft's may name, in either version. Only what can be a tenant's name
/// is one: an issuer is also an address that is called, and must lead nowhere else on that host.
pub fn azure_tenant(issuer: &str) -> Option<&str> {
    let tenant = AZURE.iter().find_map(|(host, end)| issuer.strip_prefix(host)?.strip_suffix(end))?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let is_tenant = tenant.bytes().all(is_name) && tenant.bytes().any(|byte| byte.is_ascii_alphanumeric());
    is_tenant.then_some(tenant)
}

/// The one tenant that an operator's base of Azure names; none for the bases of many tenants.
pub fn azure_tenant_of_base(base: &str) -> Option<&str> {
    let rest = base.strip_prefix(AZURE[0].0)?;
    let tenant = rest.strip_suffix('/').unwrap_or(rest);
    let is_one = !tenant.is_empty() && !tenant.contains('/') && !MANY_TENANTS.contains(&tenant);
    is_one.then_some(tenant)
}

/// Whether the document of this issuer may name itself like that: like the issuer, or like Apple's other name.
pub fn may_be_named(issuer: &str, in_document: &str) -> bool {
    issuer == in_document || (is_apple(issuer) && is_apple(in_document))
}

/// Whether a token of this issuer may name it like that: like its document, or as Google does in some tokens.
pub fn may_sign_as(issuer: &str, in_token: &str) -> bool {
    may_be_named(issuer, in_token) || (issuer == GOOGLE && in_token == GOOGLE_IN_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_of_microsoft_are_told_by_the_form_of_their_address() {
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
    fn a_base_names_one_tenant_or_many() {
        assert_eq!(azure_tenant_of_base("https://login.microsoftonline.com/t-1"), Some("t-1"));
        assert_eq!(azure_tenant_of_base("https://login.microsoftonline.com/t-1/"), Some("t-1"));
        for many in ["", "https://login.microsoftonline.com/common", "https://login.microsoftonline.com/organizations/"]
        {
            assert_eq!(azure_tenant_of_base(many), None, "{many}");
        }
        assert_eq!(azure_tenant_of_base("http://127.0.0.1:1/azure"), None);
    }

    #[test]
    fn only_apple_has_two_names_and_only_google_leaves_its_scheme_out() {
        assert!(may_be_named("https://appleid.apple.com", "https://account.apple.com"));
        assert!(!may_be_named("https://appleid.apple.com", GOOGLE));
        assert!(!may_be_named("https://a.example.com", "https://a.example.com/"));
        assert!(may_sign_as(GOOGLE, "accounts.google.com"));
        assert!(may_sign_as("https://appleid.apple.com", "https://account.apple.com"));
        assert!(!may_sign_as("https://appleid.apple.com", GOOGLE));
        assert!(!may_sign_as("https://www.facebook.com", "www.facebook.com"));
    }
}
