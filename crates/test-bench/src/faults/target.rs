//! The targets of faults.

use std::fmt;

use gotrue_rs::config::hook_key;
use gotrue_rules::domain::custom_provider::IDENTIFIER_PREFIX;
use gotrue_rules::domain::policy::{HookKind, PROVIDERS};

/// What a fault affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultTarget {
    /// Responses to requests of the application.
    Http,
    /// The mail server.
    Smtp,
    /// The sender of SMS messages.
    Sms,
    /// A hook that is called over HTTP, by its name in `[auth.hook.<name>]`.
    Hook(String),
    /// An external provider, by its name, such as `google`.
    Provider(String),
    Database,
}

impl FaultTarget {
    /// The forms of targets, for error messages.
    pub(super) const FORMS: &'static str =
        "http, smtp, sms, database, hook:<name> as in [auth.hook.<name>], provider:<name> as in [auth.external.<name>]";

    /// Lists the targets, without the providers that a configuration adds.
    pub(super) fn list() -> Vec<String> {
        let hooks = HookKind::ALL.into_iter().map(|kind| format!("hook:{}", hook_key(kind)));
        let providers = PROVIDERS.iter().map(|name| format!("provider:{name}"));
        ["http", "smtp", "sms", "database"].map(str::to_owned).into_iter().chain(hooks).chain(providers).collect()
    }

    /// Parses a target such as `hook:send_email`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hook = |name: &&str| HookKind::ALL.into_iter().any(|kind| hook_key(kind) == *name);
        let is_provider = |name: &&str| PROVIDERS.contains(name) || name.starts_with(IDENTIFIER_PREFIX);
        match text {
            "http" => Some(Self::Http),
            "smtp" => Some(Self::Smtp),
            "sms" => Some(Self::Sms),
            "database" => Some(Self::Database),
            _ => match text.split_once(':')? {
                ("hook", name) => Some(name).filter(is_hook).map(|name| Self::Hook(name.to_owned())),
                ("provider", name) => Some(name).filter(is_provider).map(|name| Self::Provider(name.to_owned())),
                _ => None,
            },
        }
    }
}

impl fmt::Display for FaultTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http => f.write_str("http"),
            Self::Smtp => f.write_str("smtp"),
            Self::Sms => f.write_str("sms"),
            Self::Hook(name) => write!(f, "hook:{name}"),
            Self::Provider(name) => write!(f, "provider:{name}"),
            Self::Database => f.write_str("database"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn targets_are_parsed_and_formatted() {
        for text in ["http", "smtp", "sms", "hook:send_email", "provider:google", "provider:custom:x", "database"] {
            assert_eq!(FaultTarget::parse(text).expect(text).to_string(), text);
        }
        for text in ["", "HTTP", "hook", "hook:", "hook:send-email", "provider:a b", "provider:googel", "smtp:x"] {
            assert_eq!(FaultTarget::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsed_target_is_formatted_back(text in "(hook|provider|http|x)?:?\\PC{0,10}") {
            if let Some(target) = FaultTarget::parse(&text) {
                prop_assert_eq!(target.to_string(), text);
            }
        }
    }
}
