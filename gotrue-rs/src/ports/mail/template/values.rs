//! What a template may show.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::Value;
use gotrue_rules::domain::policy::MailKind;
use serde_json::{Map, Value as Json};
use url::Url;

/// The values of one mail. Which of them a kind has is in config.md §5; one that is absent prints nothing.
/// `SiteURL` comes from the policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Variables<'a> {
    /// `Email`: the account's address.
    pub email: &'a str,
    /// `Data`: the account's user metadata; absent: empty.
    pub data: Option<&'a Map<String, Json>>,
    /// `ConfirmationURL`: the link.
    pub confirmation_url: Option<&'a str>,
    /// `Token`: the code.
    pub token: Option<&'a str>,
    /// `TokenHash`: its hash, with `pkce_` before it in a PKCE flow.
    pub token_hash: Option<&'a str>,
    /// `RedirectTo`: where the link leads in the end.
    pub redirect_to: Option<&'a str>,
    /// `NewEmail`: the address an account changes to.
    pub new_email: Option<&'a str>,
    /// `SendingTo`: the one of the two addresses that this mail goes to.
    pub sending_to: Option<&'a str>,
    /// `OldEmail`: the address an account had.
    pub old_email: Option<&'a str>,
    /// `Phone`: the number an account has.
    pub phone: Option<&'a str>,
    /// `OldPhone`: the number it had.
    pub old_phone: Option<&'a str>,
    /// `Provider`: the way to sign in that was added or removed.
    pub provider: Option<&'a str>,
    /// `FactorType`: the second factor that was added or removed.
    pub factor_type: Option<&'a str>,
}

/// The names that a template of this kind may use, without the dot.
pub fn names(kind: MailKind) -> &'static [&'static str] {
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

pub(super) fn of(variables: &Variables<'_>, site_url: &str) -> Value {
    let site_host = Url::parse(site_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let texts = [
        ("SiteURL", Some(site_url)),
        // Ours: a link to the site would be one link too many in the built-in texts.
        ("SiteHost", site_host.as_deref()),
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
    values.insert("Data".into(), object(variables.data.unwrap_or(&Map::new())));
    Value::Map(Arc::new(values))
}

fn object(map: &Map<String, Json>) -> Value {
    Value::Map(Arc::new(map.iter().map(|(name, value)| (name.as_str().into(), value_of(value))).collect()))
}

/// Numbers are floats, as in Go where they come out of JSON.
fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => Value::List(items.iter().map(value_of).collect()),
        Json::Object(map) => object(map),
    }
}
