//! Microsoft Entra (Azure). The person is in the ID token, whose issuer is the tenant they belong to; the operator's base
//! may be that of one tenant, and then only that one's tokens count.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::super::id_token::profile;
use super::super::issuers;
use super::super::provider::{BadAnswer, IdTokenCheck, Known, Place, Provider, Step, base, read};
use crate::domain::policy::ExternalProvider;
use crate::wire::go_json::Document;

/// Where people of all tenants sign in.
const COMMON: &str = "login.microsoftonline.com/common";
/// Tenants that stand for many: none issues tokens.
const SHARED: [&str; 2] =
    ["https://login.microsoftonline.com/common/v2.0", "https://login.microsoftonline.com/organizations/v2.0"];

/// Microsoft Entra.
#[derive(Debug)]
pub struct Azure;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    iss: String,
}

impl Provider for Azure {
    fn name(&self) -> &'static str {
        "azure"
    }

    fn place(&self, settings: &ExternalProvider) -> Place {
        let host = base(&settings.url, COMMON);
        Place::oauth2(format!("{host}/oauth2/v2.0/authorize"), format!("{host}/oauth2/v2.0/token"), &["openid"])
    }

    fn next(&self, known: &Known<'_>) -> Result<Step, BadAnswer> {
        if let Some(token) = known.id_token {
            return Ok(Step::Done(Box::new(profile(token)?)));
        }
        if !known.token.has_id_token() {
            return Err(BadAnswer("there is no ID token in it".to_owned()));
        }
        let issuer = claimed_issuer(&known.token.id_token)?;
        let tenant = tenant(known.settings);
        let is_admitted = match &tenant {
            Some(tenant) => *tenant == issuer,
            // The reference takes the word of a token of Microsoft's for any issuer.
            None => !is_at_microsoft(known.settings) || issuers::azure_tenant(&issuer).is_some(),
        };
        if !is_admitted {
            return Err(BadAnswer(format!("the ID token is of {issuer:?}, wanted: {tenant:?}")));
        }
        let told_by_token = tenant.is_none();
        Ok(Step::CheckIdToken(IdTokenCheck { issuer, told_by_token, ..IdTokenCheck::default() }))
    }
}

/// The only issuer whose tokens count, where the operator's base is that of one tenant.
fn tenant(settings: &ExternalProvider) -> Option<String> {
    if settings.url.is_empty() {
        return None;
    }
    let issuer = format!("{}/v2.0", base(&settings.url, ""));
    let is_tenant = issuers::is_azure(&issuer) || is_customer_issuer(&issuer);
    (is_tenant && !SHARED.contains(&issuer.as_str())).then_some(issuer)
}

fn is_at_microsoft(settings: &ExternalProvider) -> bool {
    base(&settings.url, COMMON).starts_with("https://login.microsoftonline.com/")
}

/// `https://<name>.ciamlogin.com/<tenant>/v2.0`: tenants for an operator's customers.
fn is_customer_issuer(issuer: &str) -> bool {
    let Some((name, rest)) = issuer.strip_prefix("https://").and_then(|rest| rest.split_once(".ciamlogin.com/")) else {
        return false;
    };
    let is_name = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-');
    let is_tenant = rest.strip_suffix("/v2.0").is_some_and(|tenant| !tenant.is_empty() && !tenant.contains('/'));
    !name.is_empty() && name.bytes().all(is_name) && is_tenant
}

/// What an ID token says of its issuer, before anything is checked.
fn claimed_issuer(id_token: &str) -> Result<String, BadAnswer> {
    let bad = || BadAnswer("the ID token is none".to_owned());
    let parts: Vec<&str> = id_token.split('.').collect();
    let [_, payload, _] = parts[..] else { return Err(bad()) };
    let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| bad())?;
    let issuer = read::<Payload>(&Document::parse(&payload)?)?.iss;
    if issuer.is_empty() { Err(bad()) } else { Ok(issuer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant_of(url: &str) -> Option<String> {
        tenant(&ExternalProvider { url: url.to_owned(), ..ExternalProvider::default() })
    }

    #[test]
    fn a_base_of_one_tenant_admits_that_one_only() {
        for url in ["https://login.microsoftonline.com/t-1", "https://shop.ciamlogin.com/t-1/"] {
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
    fn what_is_no_token_names_no_issuer() {
        let token = |payload: &str| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload));
        assert_eq!(claimed_issuer(&token(r#"{"iss":"https://a"}"#)).as_deref(), Ok("https://a"));
        let none = ["", "a.b", "a.b.c.d", "e30.%.c2ln"].map(str::to_owned);
        for bad in none.into_iter().chain(["[]", "7", "{}", r#"{"iss":7}"#, "{"].map(token)) {
            assert!(claimed_issuer(&bad).is_err(), "{bad}");
        }
    }
}
