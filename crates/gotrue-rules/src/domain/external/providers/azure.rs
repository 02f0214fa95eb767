//! Microsoft Entra (Azure).
//! The profile comes from the ID token, whose issuer is the user's tenant. If the operator's base URL names one tenant,
//! only that tenant's tokens are accepted.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::super::id_token::issuer_profiles::profile_from_id_token;
use super::super::issuers;
use super::super::provider::{
    IdTokenCheck, ProfileContext, ProfileStep, Provider, ProviderConfig, ProviderResponseError, base_url, decode,
};
use crate::domain::policy::ExternalProviderSettings;
use crate::wire::go_json::Document;

/// The multi-tenant base URL.
const MULTI_TENANT_HOST: &str = "login.microsoftonline.com/common";

/// Microsoft Entra.
#[derive(Debug)]
pub(super) struct Azure;

#[derive(Deserialize, Default)]
#[serde(default)]
struct IssuerClaim {
    iss: String,
}

impl Provider for Azure {
    fn name(&self) -> &'static str {
        "azure"
    }

    fn config(&self, settings: &ExternalProviderSettings) -> ProviderConfig {
        let host = base_url(&settings.url, MULTI_TENANT_HOST);
        ProviderConfig::oauth2(
            format!("{host}/oauth2/v2.0/authorize"),
            format!("{host}/oauth2/v2.0/token"),
            &["openid"],
        )
    }

    fn next_step(&self, known: &ProfileContext<'_>) -> Result<ProfileStep, ProviderResponseError> {
        if let Some(token) = known.id_token {
            return Ok(ProfileStep::Done(Box::new(profile_from_id_token(token)?)));
        }
        if !known.token.has_id_token() {
            return Err(ProviderResponseError("the response has no ID token".to_owned()));
        }
        let issuer = unverified_issuer(&known.token.id_token)?;
        let tenant = tenant_issuer(known.settings);
        let is_admitted = match &tenant {
            Some(tenant) => *tenant == issuer,
            // The reference accepts any issuer that a Microsoft token names.
            None => !is_at_microsoft(known.settings) || issuers::azure_tenant(&issuer).is_some(),
        };
        if !is_admitted {
            return Err(ProviderResponseError(format!("the ID token's issuer is {issuer:?}, expected {tenant:?}")));
        }
        let is_issuer_from_token = tenant.is_none();
        Ok(ProfileStep::CheckIdToken(IdTokenCheck { issuer, is_issuer_from_token, ..IdTokenCheck::default() }))
    }
}

/// The only accepted issuer, if the operator's base URL names one tenant.
fn tenant_issuer(settings: &ExternalProviderSettings) -> Option<String> {
    if settings.url.is_empty() {
        return None;
    }
    let issuer = format!("{}/v2.0", base_url(&settings.url, ""));
    let is_tenant = issuers::is_azure(&issuer) || is_customer_issuer(&issuer);
    (is_tenant && !issuers::is_multi_tenant_issuer(&issuer)).then_some(issuer)
}

fn is_at_microsoft(settings: &ExternalProviderSettings) -> bool {
    base_url(&settings.url, MULTI_TENANT_HOST).starts_with("https://login.microsoftonline.com/")
}

/// Whether this is the issuer of an external tenant: `https://<name>.ciamlogin.com/<tenant>/v2.0`.
fn is_customer_issuer(issuer: &str) -> bool {
    let Some((name, rest)) = issuer.strip_prefix("https://").and_then(|rest| rest.split_once(".ciamlogin.com/")) else {
        return false;
    };
    let is_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    let is_tenant = rest.strip_suffix("/v2.0").is_some_and(|tenant| !tenant.is_empty() && !tenant.contains('/'));
    !name.is_empty() && name.bytes().all(is_name) && is_tenant
}

/// Reads the issuer from an unverified ID token.
fn unverified_issuer(id_token: &str) -> Result<String, ProviderResponseError> {
    let bad = || ProviderResponseError("the ID token is not a JWT with an issuer".to_owned());
    let parts: Vec<&str> = id_token.split('.').collect();
    let [_, payload, _] = parts[..] else { return Err(bad()) };
    let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| bad())?;
    let issuer = decode::<IssuerClaim>(&Document::parse(&payload)?)?.iss;
    if issuer.is_empty() { Err(bad()) } else { Ok(issuer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant_of(url: &str) -> Option<String> {
        tenant_issuer(&ExternalProviderSettings { url: url.to_owned(), ..ExternalProviderSettings::default() })
    }

    #[test]
    fn single_tenant_base_restricts_issuer() {
        for url in [
            "https://login.microsoftonline.com/t-1",
            "https://login.microsoftonline.com/consumers",
            "https://shop.ciamlogin.com/t-1/",
        ] {
            assert_eq!(tenant_of(url).as_deref(), Some(&*format!("{}/v2.0", url.trim_end_matches('/'))), "{url}");
        }
        for url in [
            "",
            "https://login.microsoftonline.com/common",
            "https://login.microsoftonline.com/organizations/",
            "https://login.microsoftonline.com",
            "https://login.microsoftonline.com/a/b",
            "https://login.microsoftonline.com.example.com/t-1",
            "http://login.microsoftonline.com/t-1",
            "https://.ciamlogin.com/t-1",
            "https://a.b.ciamlogin.com/t-1",
            "http://localhost:9999/azure",
        ] {
            assert_eq!(tenant_of(url), None, "{url}");
        }
    }

    #[test]
    fn malformed_id_token_has_no_issuer() {
        let token = |payload: &str| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload));
        assert_eq!(unverified_issuer(&token(r#"{"iss":"https://a"}"#)).as_deref(), Ok("https://a"));
        let none = ["", "a.b", "a.b.c.d", "e30.%.c2ln"].map(str::to_owned);
        for bad in none.into_iter().chain(["[]", "7", "{}", r#"{"iss":7}"#, "{"].map(token)) {
            assert!(unverified_issuer(&bad).is_err(), "{bad}");
        }
    }
}
