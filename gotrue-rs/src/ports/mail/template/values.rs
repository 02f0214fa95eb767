//! The variables of templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use foundation::language::Language;
use gotmpl::Value;
use gotrue_rules::domain::policy::MailKind;
use gotrue_rules::domain::redirect::is_loopback_url;
use serde_json::{Map, Value as Json};
use url::{Host, Url};

/// The variables of one mail. [`list_variables`] lists those of a kind; an absent one prints nothing.
///
/// `SiteURL` comes from the policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateVariables<'a> {
    /// The language of built-in texts; no variable of templates.
    pub language: Language,
    /// `Email`: the user's address.
    pub email: &'a str,
    /// `Data`: the user metadata; empty if `None`.
    pub data: Option<&'a Map<String, Json>>,
    /// `ConfirmationURL`: the link.
    pub confirmation_url: Option<&'a str>,
    /// `Token`: the code.
    pub token: Option<&'a str>,
    /// `TokenHash`: its hash, prefixed with `pkce_` in a PKCE flow.
    pub token_hash: Option<&'a str>,
    /// `RedirectTo`: the final redirect URL.
    pub redirect_to: Option<&'a str>,
    /// `NewEmail`: the requested new address.
    pub new_email: Option<&'a str>,
    /// `SendingTo`: the recipient of this mail, one of the two addresses.
    pub sending_to: Option<&'a str>,
    /// `OldEmail`: the previous address.
    pub old_email: Option<&'a str>,
    /// `Phone`: the current number.
    pub phone: Option<&'a str>,
    /// `OldPhone`: the previous number.
    pub old_phone: Option<&'a str>,
    /// `Provider`: the provider of the linked or unlinked identity.
    pub provider: Option<&'a str>,
    /// `FactorType`: the type of the enrolled or unenrolled factor.
    pub factor_type: Option<&'a str>,
}

impl TemplateVariables<'static> {
    /// Values of the kind that a mail has, with which a template is tried and shown.
    pub fn sample() -> Self {
        let link =
            "https://example.com/auth/v1/verify?token=0123456789abcdef&type=signup&redirect_to=https://example.com";
        Self {
            email: "ann@example.com",
            confirmation_url: Some(link),
            token: Some("123456"),
            token_hash: Some("0123456789abcdef"),
            redirect_to: Some("https://example.com"),
            new_email: Some("ann.new@example.com"),
            sending_to: Some("ann@example.com"),
            old_email: Some("ann.old@example.com"),
            phone: Some("15550100"),
            old_phone: Some("15550101"),
            provider: Some("google"),
            factor_type: Some("totp"),
            ..Self::default()
        }
    }
}

/// Returns the variables that a template of this kind may use, without the dot.
pub fn list_variables(kind: MailKind) -> &'static [&'static str] {
    match kind {
        MailKind::Invite | MailKind::Confirmation | MailKind::Recovery | MailKind::MagicLink => {
            &["SiteURL", "SiteHost", "Email", "Data", "ConfirmationURL", "Token", "TokenHash", "RedirectTo"]
        }
        MailKind::EmailChange => &[
            "SiteURL",
            "SiteHost",
            "Email",
            "Data",
            "ConfirmationURL",
            "Token",
            "TokenHash",
            "RedirectTo",
            "NewEmail",
            "SendingTo",
        ],
        MailKind::Reauthentication => &["SiteURL", "SiteHost", "Email", "Data", "Token"],
        MailKind::PasswordChanged => &["SiteURL", "SiteHost", "Email", "Data"],
        MailKind::EmailChanged => &["SiteURL", "SiteHost", "Email", "Data", "OldEmail"],
        MailKind::PhoneChanged => &["SiteURL", "SiteHost", "Email", "Data", "Phone", "OldPhone"],
        MailKind::IdentityLinked | MailKind::IdentityUnlinked => &["SiteURL", "SiteHost", "Email", "Data", "Provider"],
        MailKind::MfaFactorEnrolled | MailKind::MfaFactorUnenrolled => {
            &["SiteURL", "SiteHost", "Email", "Data", "FactorType"]
        }
    }
}

/// Returns the host of the site.
pub(super) fn find_host(site_url: &str) -> Option<String> {
    Url::parse(site_url).ok().and_then(|url| url.host_str().map(str::to_owned))
}

/// Returns the host of the site if it is a name that readers know: neither an address nor this machine.
pub(super) fn find_name(site_url: &str) -> Option<String> {
    let is_address = matches!(Url::parse(site_url).ok()?.host()?, Host::Ipv4(_) | Host::Ipv6(_));
    find_host(site_url).filter(|_| !is_address && !is_loopback_url(site_url))
}

pub(super) fn to_value(variables: &TemplateVariables<'_>, site_url: &str, site_host: Option<&str>) -> Value {
    let texts = [
        ("SiteURL", Some(site_url)),
        // An addition to the reference's variables: the built-in texts name the site without a second link.
        ("SiteHost", site_host),
        ("Email", Some(variables.email)),
        ("ConfirmationURL", variables.confirmation_url),
        ("Token", variables.token),
        ("TokenHash", variables.token_hash),
        ("RedirectTo", variables.redirect_to),
        ("NewEmail", variables.new_email),
        ("SendingTo", variables.sending_to),
        ("OldEmail", variables.old_email),
        ("Phone", variables.phone),
        ("OldPhone", variables.old_phone),
        ("Provider", variables.provider),
        ("FactorType", variables.factor_type),
    ];
    let mut values: BTreeMap<Arc<str>, Value> =
        texts.into_iter().filter_map(|(name, text)| Some((name.into(), Value::String(text?.into())))).collect();
    values.insert("Data".into(), object_value(variables.data.unwrap_or(&Map::new())));
    Value::Map(Arc::new(values))
}

fn object_value(map: &Map<String, Json>) -> Value {
    Value::Map(Arc::new(map.iter().map(|(name, value)| (name.as_str().into(), json_value(value))).collect()))
}

/// Numbers are floats, like in Go after JSON decoding.
fn json_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => Value::List(items.iter().map(json_value).collect()),
        Json::Object(map) => object_value(map),
    }
}
