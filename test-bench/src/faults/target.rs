//! The targets of faults.

use std::fmt;

/// What a fault affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultTarget {
    /// Responses to requests of the application.
    Http,
    /// The mail server.
    Smtp,
    /// The sender of SMS messages.
    Sms,
    /// A hook that is called over HTTP, by its name, such as `send_email`.
    Hook(String),
    /// An external provider, by its name, such as `google`.
    Provider(String),
    /// The database.
    Database,
}

/// The longest name of a hook or provider, in bytes.
const MAX_NAME: usize = 64;

impl FaultTarget {
    /// The forms of targets, for error messages.
    pub(super) const FORMS: &'static str = "http, smtp, sms, hook:<name>, provider:<name>, database";

    /// Parses a target such as `hook:send_email`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = |name: &&str| {
            let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | ':' | '.');
            !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
        };
        match text {
            "http" => Some(Self::Http),
            "smtp" => Some(Self::Smtp),
            "sms" => Some(Self::Sms),
            "database" => Some(Self::Database),
            _ => match text.split_once(':')? {
                ("hook", name) => Some(name).filter(is_name).map(|name| Self::Hook(name.to_owned())),
                ("provider", name) => Some(name).filter(is_name).map(|name| Self::Provider(name.to_owned())),
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
        for text in ["", "HTTP", "hook", "hook:", "provider:a b", "smtp:x", &format!("hook:{}", "x".repeat(65))] {
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
