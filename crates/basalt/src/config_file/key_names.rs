//! Names of `config.toml` for settings of the auth server, for messages.

use super::keys::{KeyUsage, all_keys, allowed_names};

/// The prefix of the settings.
const PREFIX: &str = "GOTRUE_";

/// Settings whose keys are converted by separate code, without the prefix.
const CONVERTED: &[(&str, &str)] = &[
    ("API_EXTERNAL_URL", "api.external_url"),
    ("API_API_EXTERNAL_URL", "api.external_url"),
    ("DB_DATABASE_URL", "DATABASE_URL"),
    ("EXTERNAL_*_REDIRECT_URI", "auth.external.*.redirect_uri"),
    ("JWT_ISSUER", "auth.jwt_issuer"),
    ("JWT_KEYS", "auth.signing_keys_path"),
    ("JWT_SECRET", "auth.jwt_secret"),
    ("MAILER_TEMPLATES_*", "auth.email.template.*.content_path"),
    ("MAILER_TEMPLATES_*_NOTIFICATION", "auth.email.notification.*.content_path"),
    ("PASSWORD_REQUIRED_CHARACTERS", "auth.password_requirements"),
    ("RATE_LIMIT_EMAIL_SENT", "auth.rate_limit.email_sent"),
    ("SESSIONS_INACTIVITY_TIMEOUT", "auth.sessions.inactivity_timeout"),
    ("SESSIONS_TIMEBOX", "auth.sessions.timebox"),
    ("SITE_URL", "auth.site_url"),
    ("SMS_PROVIDER", "auth.sms"),
    ("SMS_TEST_OTP", "auth.sms.test_otp"),
    ("SMTP_HEADERS", "basalt.mail.headers"),
];

/// Returns the key that a setting such as `GOTRUE_JWT_EXP` comes from.
pub(crate) fn find_key_name(setting: &str) -> Option<String> {
    let name = setting.strip_prefix(PREFIX)?;
    let of_table = all_keys().filter_map(|key| match key.usage {
        KeyUsage::Setting(setting, _) | KeyUsage::Negated(setting, _) => Some((setting, key.path)),
        KeyUsage::Custom | KeyUsage::Ignored => None,
    });
    of_table.chain(CONVERTED.iter().copied()).find_map(|(setting, path)| fill_path(setting, path, name))
}

/// Returns whether the key of a setting means its opposite: `auth.enable_signup` and `GOTRUE_DISABLE_SIGNUP`.
pub(super) fn is_negated(setting: &str) -> bool {
    let name = setting.strip_prefix(PREFIX);
    all_keys().any(|key| matches!(key.usage, KeyUsage::Negated(setting, _) if Some(setting) == name))
}

/// Replaces the names of settings in a sentence by those of `config.toml`.
///
/// A setting without a key loses its prefix, because no variable of that name is read.
pub(crate) fn replace_setting_names(sentence: &str) -> String {
    let mut replaced = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(at) = rest.find(PREFIX) {
        let is_name =
            |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_';
        let end = rest[at..].find(|character| !is_name(character)).map_or(rest.len(), |length| at + length);
        let name = &rest[at..end];
        replaced.push_str(&rest[..at]);
        replaced.push_str(&find_key_name(name).unwrap_or_else(|| name[PREFIX.len()..].to_owned()));
        rest = &rest[end..];
    }
    replaced + rest
}

/// Returns the path with its `*` filled in, if `name` matches the pattern of the setting.
fn fill_path(setting: &str, path: &str, name: &str) -> Option<String> {
    let Some((before, after)) = setting.split_once('*') else {
        return (setting == name).then(|| path.to_owned());
    };
    let word = name.strip_prefix(before)?.strip_suffix(after)?.to_lowercase();
    let table = path.split(".*").next().unwrap_or_default();
    let is_allowed = allowed_names(table).is_none_or(|names| names.contains(&word.as_str()));
    (is_allowed && !word.is_empty()).then(|| path.replacen('*', &word, 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_have_the_names_of_their_keys() {
        let cases = [
            ("GOTRUE_JWT_EXP", "auth.jwt_expiry"),
            ("GOTRUE_DISABLE_SIGNUP", "auth.enable_signup"),
            ("GOTRUE_SITE_URL", "auth.site_url"),
            ("GOTRUE_EXTERNAL_LINKEDIN_OIDC_CLIENT_ID", "auth.external.linkedin_oidc.client_id"),
            ("GOTRUE_EXTERNAL_GITHUB_REDIRECT_URI", "auth.external.github.redirect_uri"),
            ("GOTRUE_MAILER_SUBJECTS_INVITE", "auth.email.template.invite.subject"),
            ("GOTRUE_MAILER_SUBJECTS_EMAIL_CHANGED_NOTIFICATION", "auth.email.notification.email_changed.subject"),
            ("GOTRUE_HOOK_SEND_SMS_URI", "auth.hook.send_sms.uri"),
        ];
        for (setting, key) in cases {
            assert_eq!(find_key_name(setting).as_deref(), Some(key), "{setting}");
        }
        assert_eq!(find_key_name("GOTRUE_RATE_LIMIT_HEADER"), None);
        assert_eq!(find_key_name("GOTRUE_EXTERNAL__SECRET"), None);
        assert_eq!(find_key_name("PORT"), None);
    }

    #[test]
    fn names_in_sentences_are_replaced() {
        let sentence = "lacks GOTRUE_SMS_VONAGE_FROM, and GOTRUE_RATE_LIMIT_HEADER (GOTRUE_SITE_URL)";
        assert_eq!(
            replace_setting_names(sentence),
            "lacks auth.sms.vonage.from, and RATE_LIMIT_HEADER (auth.site_url)"
        );
    }

    proptest! {
        #[test]
        fn no_prefix_remains_and_other_text_is_kept(words in proptest::collection::vec("(GOTRUE_[A-Z_0-9]{0,20}|[a-z ü,.]{0,9})", 0..9)) {
            let sentence = words.join(" ");
            let replaced = replace_setting_names(&sentence);
            prop_assert!(!replaced.contains(PREFIX) || sentence.contains("GOTRUE_GOTRUE_"), "{replaced}");
            for word in words.iter().filter(|word| !word.starts_with(PREFIX)) {
                prop_assert!(replaced.contains(word.as_str()));
            }
        }
    }
}
