//! Settings whose effect differs from that in the reference, with the rows of `docs/compatibility.md`.

use super::finding::{Finding, Verdict};

/// Where a difference exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// In `basalt gotrue` and `basalt serve`.
    Everywhere,
    /// In `basalt serve` only.
    Serve,
}

/// Returns the value of another setting.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A difference of a setting.
struct Difference {
    /// The name of the setting; `*` stands for any one word.
    name: &'static str,
    /// Where it exists.
    profile: Profile,
    /// Whether it exists with a value.
    applies: fn(&str, Lookup<'_>) -> bool,
    /// The first cell of its row.
    row: &'static str,
    /// The difference.
    how: &'static str,
    /// Whether to look at it before switching.
    matters: bool,
}

/// A difference that needs no preparation.
const fn note(
    name: &'static str,
    profile: Profile,
    applies: fn(&str, Lookup<'_>) -> bool,
    row: &'static str,
    how: &'static str,
) -> Difference {
    Difference { name, profile, applies, row, how, matters: false }
}

/// A difference to look at before switching.
const fn warning(
    name: &'static str,
    profile: Profile,
    applies: fn(&str, Lookup<'_>) -> bool,
    row: &'static str,
    how: &'static str,
) -> Difference {
    Difference { name, profile, applies, row, how, matters: true }
}

use Profile::{Everywhere, Serve};

const DIFFERENCES: &[Difference] = &[
    warning(
        "DB_NAMESPACE",
        Everywhere,
        |value, _| !matches!(value, "" | "auth"),
        "`DB_NAMESPACE` other than `auth`",
        "another schema than auth is refused at the start",
    ),
    warning(
        "DATABASE_URL",
        Everywhere,
        |value, _| names_pooler(value),
        "connection pooler in front of the database",
        "a pooler in transaction mode is recognised; statements are then sent as text",
    ),
    note(
        "DATABASE_URL",
        Everywhere,
        |value, _| names_several_servers(value),
        "several servers in `DATABASE_URL` without `target_session_attrs`",
        "of several servers the first that accepts writes is used",
    ),
    note(
        "GOTRUE_DB_CLEANUP_ENABLED",
        Everywhere,
        is_on,
        "deletion of expired rows",
        "expired rows are deleted in the background, not within requests",
    ),
    warning(
        "GOTRUE_SMTP_HEADERS",
        Everywhere,
        |value, _| sets_standard_header(value),
        "`To`, `Subject` and other standard headers in `GOTRUE_SMTP_HEADERS`",
        "standard headers such as To and Subject are refused at the start",
    ),
    note("GOTRUE_SMTP_USER", Everywhere, is_set, "SMTP authentication", "CRAM-MD5 is not offered; PLAIN and LOGIN are"),
    warning(
        "GOTRUE_URI_ALLOW_LIST",
        Everywhere,
        |value, _| value.contains("?*") || value.contains("***"),
        "redirect patterns with adjacent wildcards (`?*`, `***`)",
        "adjacent wildcards have the documented meaning, which the reference's library does not keep",
    ),
    note(
        "GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT",
        Everywhere,
        is_on,
        "passwords of new accounts with database encryption",
        "passwords are encrypted from the sign-up on, not only from the first sign-in",
    ),
    note(
        "GOTRUE_PASSWORD_HIBP_ENABLED",
        Everywhere,
        is_on,
        "look-up of leaked passwords",
        "requests for leaked passwords ask for padding",
    ),
    note(
        "GOTRUE_SMS_PROVIDER",
        Everywhere,
        |value, _| value == "twilio_verify",
        "code of Twilio Verify for reauthentication",
        "a code for reauthentication is used up",
    ),
    note(
        "GOTRUE_EXTERNAL_AZURE_ENABLED",
        Everywhere,
        is_on,
        "issuer of an ID token of Azure at `POST /token`",
        "only issuers of tenants are accepted",
    ),
    note(
        "GOTRUE_EXTERNAL_LINKEDIN_ENABLED",
        Everywhere,
        is_on,
        "response of LinkedIn (`linkedin`) without an address, or without a name in the preferred language",
        "a profile without an address gets a clear error in place of a status 500",
    ),
    note(
        "GOTRUE_HOOK_*_URI",
        Everywhere,
        |value, _| value.starts_with("http"),
        "HTTP hook whose response is slow to end",
        "a slow response is a timeout of the hook, 422, in place of a status 500",
    ),
    note(
        "GOTRUE_PASSKEY_ENABLED",
        Everywhere,
        is_on,
        "keys with algorithms other than ES256, ES384 and RS256",
        "only keys with ES256, ES384 and RS256 are registered",
    ),
    note(
        "GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED",
        Everywhere,
        is_on,
        "keys with algorithms other than ES256, ES384 and RS256",
        "only keys with ES256, ES384 and RS256 are registered",
    ),
    warning(
        "GOTRUE_SAML_ENABLED",
        Everywhere,
        is_on,
        "keys below 2048 bits, ECDSA",
        "signatures of identity providers with keys below 2048 bits are refused",
    ),
    warning(
        "GOTRUE_SAML_ALLOW_ENCRYPTED_ASSERTIONS",
        Everywhere,
        |_, lookup| is_on(&lookup("GOTRUE_SAML_ENABLED").unwrap_or_default(), lookup),
        "encrypted assertions",
        "they are read only if this is on, and not with rsa-1_5 or triple DES",
    ),
    warning(
        "GOTRUE_OAUTH_SERVER_ENABLED",
        Everywhere,
        |value, lookup| {
            is_on(value, lookup) && lookup("GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH").unwrap_or_default().is_empty()
        },
        "authorization request without a configured consent page",
        "without GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH no authorization request is stored",
    ),
    note(
        "auth.rate_limit.*",
        Serve,
        |_, _| true,
        "`[auth.rate_limit]` of `config.toml`",
        "the limit is also the number at once; the local stack of the CLI allows 30 at once whatever it is",
    ),
    note(
        "auth.*.max_frequency",
        Serve,
        |value, _| matches!(value, "0" | "0s" | "0m"),
        "`max_frequency = \"0s\"` of `config.toml`",
        "0s means no pause; in the local stack of the CLI it means one minute",
    ),
    warning(
        "auth.sms.enable_signup",
        Serve,
        |value, lookup| value == "true" && lookup("auth.sms.enable_confirmations").is_none(),
        "`config.toml` without `[auth.sms] enable_confirmations`",
        "without enable_confirmations numbers must be confirmed; the CLI does not confirm them",
    ),
    note(
        "auth.sms.enable_signup",
        Serve,
        |value, _| value == "false",
        "change of number (`PUT /user`) while phone sign-up is off",
        "a user cannot set a number either",
    ),
    note(
        "auth.email.enable_confirmations",
        Serve,
        |value, _| value == "false",
        "address that a provider does not verify, with autoconfirm",
        "an address that a provider does not verify opens no existing account",
    ),
    note(
        "auth.enable_manual_linking",
        Serve,
        |value, _| value == "false",
        "`link_identity` while manual linking is off",
        "linking by an ID token is refused, too",
    ),
    note(
        "auth.additional_redirect_urls",
        Serve,
        |_, _| true,
        "redirect targets (`redirect_to`, `Referer`)",
        "loopback is allowed at any port only if the site is on loopback, and schemes other than http only if a pattern spells them out",
    ),
    warning(
        "auth.external.azure.enabled",
        Serve,
        |value, _| value == "true",
        "address in an ID token of Azure, Kakao or Snapchat without a verification claim",
        "an address without a verification claim must be confirmed by a message",
    ),
    warning(
        "auth.external.kakao.enabled",
        Serve,
        |value, _| value == "true",
        "address in an ID token of Azure, Kakao or Snapchat without a verification claim",
        "an address without a verification claim must be confirmed by a message",
    ),
    note(
        "auth.mfa.totp.verify_enabled",
        Serve,
        |value, _| value == "true",
        "TOTP code used twice",
        "a code is accepted once",
    ),
    note(
        "auth.hook.custom_access_token.enabled",
        Serve,
        |value, _| value == "true",
        "`aud` in the payload of the access token hook",
        "the payload always has a text; in the reference it is a list until the first token is signed",
    ),
    note(
        "auth.oauth_server.enabled",
        Serve,
        |value, _| value == "true",
        "PKCE at `/oauth/authorize`",
        "the method plain is refused",
    ),
    note(
        "auth.email.template.*.content_path",
        Serve,
        |_, _| true,
        "mail template file or subject that is invalid",
        "an invalid template prevents the start, and names its line",
    ),
    note(
        "auth.captcha.enabled",
        Serve,
        |value, _| value == "true",
        "key of rate limits",
        "rate limits count the address of the peer; name your proxies in [basalt] trusted_proxies",
    ),
];

/// Returns the differences of a setting with a value.
pub(super) fn find_differences(name: &str, value: &str, profile: Profile, lookup: Lookup<'_>) -> Vec<Finding> {
    let is_shown = |difference: &&Difference| {
        difference.profile == profile && matches_name(difference.name, name) && (difference.applies)(value, lookup)
    };
    let finding = |difference: &Difference| Finding {
        name: name.to_owned(),
        line: None,
        verdict: Verdict::Different { how: difference.how, row: difference.row },
        matters: difference.matters,
    };
    DIFFERENCES.iter().filter(is_shown).map(finding).collect()
}

/// Returns whether a name matches a pattern; the prefix `GOTRUE_DB_` is that of an alias.
fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => name == pattern || name.strip_prefix("GOTRUE_DB_") == Some(pattern),
    }
}

fn is_on(value: &str, _: Lookup<'_>) -> bool {
    matches!(value, "true" | "t" | "1" | "TRUE" | "True" | "T")
}

fn is_set(value: &str, _: Lookup<'_>) -> bool {
    !value.is_empty()
}

/// Returns whether a URL names a pooler: by its usual port, host or parameters.
fn names_pooler(url: &str) -> bool {
    [":6543", "pooler.", "pgbouncer", "supavisor", "statement_cache_mode=", "prefer_simple_protocol="]
        .iter()
        .any(|sign| url.contains(sign))
}

fn names_several_servers(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?']).next().unwrap_or_default();
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    hosts.contains(',') && !url.contains("target_session_attrs")
}

/// Returns whether a JSON object of headers has one that every mail has.
fn sets_standard_header(value: &str) -> bool {
    let Ok(serde_json::Value::Object(headers)) = serde_json::from_str(value) else { return false };
    let standard = ["to", "cc", "bcc", "subject", "date", "message-id", "mime-version", "content-type"];
    headers.keys().any(|name| standard.contains(&name.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPATIBILITY: &str = include_str!("../../../../docs/compatibility.md");

    #[test]
    fn every_cited_row_exists() {
        for difference in DIFFERENCES {
            let row = format!("| {} |", difference.row);
            assert!(COMPATIBILITY.lines().any(|line| line.starts_with(&row)), "{}: {row}", difference.name);
        }
    }

    #[test]
    fn every_difference_names_a_known_setting() {
        let known = gotrue_rs::config::settings::names();
        for difference in DIFFERENCES.iter().filter(|known| known.profile == Everywhere) {
            assert!(known.keys().any(|name| matches_name(difference.name, name)), "{}", difference.name);
        }
        for difference in DIFFERENCES.iter().filter(|known| known.profile == Serve) {
            let path = difference.name.replace("rate_limit.*", "rate_limit.web3").replace("auth.*.", "auth.email.");
            let path = path.replace("template.*", "template.invite");
            let text = format!("{path} = 1");
            let keys = crate::config_file::list_keys(&text).expect("it is TOML");
            assert_eq!(keys[0].state, crate::config_file::KeyEffect::Used, "{}", difference.name);
        }
    }

    #[test]
    fn differences_depend_on_the_value() {
        let count = |name: &str, value: &str| find_differences(name, value, Everywhere, &|_| None).len();
        assert_eq!(count("DB_NAMESPACE", "auth"), 0);
        assert_eq!(count("DB_NAMESPACE", "app"), 1);
        assert_eq!(count("GOTRUE_DB_DATABASE_URL", "postgres://u:p@a:5432,b:5432/d"), 1);
        assert_eq!(count("DATABASE_URL", "postgres://u:p@a,b/d?target_session_attrs=any"), 0);
        assert_eq!(count("DATABASE_URL", "postgres://u:p@aws-0.pooler.supabase.com:6543/d"), 1);
        assert_eq!(count("GOTRUE_SMTP_HEADERS", "{\"To\": [\"a@example.com\"]}"), 1);
        assert_eq!(count("GOTRUE_SMTP_HEADERS", "{\"X-Tag\": [\"a\"]}"), 0);
        assert_eq!(count("GOTRUE_HOOK_SEND_SMS_URI", "https://example.com"), 1);
    }
}
