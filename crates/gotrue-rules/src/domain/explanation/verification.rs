//! Explains refused codes, links and PKCE exchanges by what became of the secret.

use std::time::Duration;

use foundation::error::WeakPasswordReason;
use foundation::explanation::DecisionRecord;
use foundation::time::Time;

use crate::domain::password::WeakPassword;
use crate::domain::policy::PasswordPolicy;

/// What became of a one-time code or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretFate {
    /// It was never issued, or before the start of the server.
    Unknown,
    /// It was used at this time.
    Used(Time),
    /// A newer one replaced it at this time.
    Superseded(Time),
    /// It was issued at this time, longer ago than its lifetime.
    Expired(Time),
    /// It is still valid, for another type of verification or another address.
    Mismatched,
}

/// A refused code or link.
#[derive(Debug, Clone, Copy)]
pub struct RefusedSecret {
    /// Whether it is a code, else a link.
    pub is_code: bool,
    /// What became of it.
    pub fate: SecretFate,
    /// The lifetime of codes and links.
    pub lifetime: Duration,
    /// The time of the request.
    pub now: Time,
}

/// Explains a refused code or link.
pub fn explain_secret(refused: RefusedSecret) -> DecisionRecord {
    let RefusedSecret { is_code, fate, lifetime, now } = refused;
    let what = if is_code { "code" } else { "link" };
    let ago = |then: Time| (now - then).num_seconds();
    let record = match fate {
        SecretFate::Unknown if is_code => {
            DecisionRecord::refused("one_time_code.wrong", "The code is not one that was sent to this recipient.")
                .with_remedy("Enter the code of the latest message; the inbox at /_dev/inbox has it.")
        }
        SecretFate::Unknown => {
            DecisionRecord::refused("one_time_link.unknown", "No such link was issued since the start of the server.")
                .with_remedy("Open the link of the latest message unchanged; the inbox at /_dev/inbox has it.")
        }
        SecretFate::Used(at) => {
            let name = if is_code { "one_time_code.used" } else { "one_time_link.used" };
            DecisionRecord::refused(name, format!("The {what} was used {} s ago; it works once.", ago(at)))
                .with_input("used_at", at.to_rfc3339())
                .with_remedy("Request a new one. If scanners of mail open links before users do, send codes instead.")
        }
        SecretFate::Superseded(at) => {
            let name = if is_code { "one_time_code.superseded" } else { "one_time_link.superseded" };
            DecisionRecord::refused(name, format!("A newer message replaced the {what} {} s ago.", ago(at)))
                .with_input("superseded_at", at.to_rfc3339())
                .with_remedy("Use the latest message: each one replaces the one before.")
        }
        SecretFate::Expired(at) => {
            let name = if is_code { "one_time_code.expired" } else { "one_time_link.expired" };
            let seconds = lifetime.as_secs();
            let reason = format!("The {what} was issued {} s ago and is valid for {seconds} s.", ago(at));
            DecisionRecord::refused(name, reason)
                .with_input("issued_at", at.to_rfc3339())
                .with_input("expired_seconds_ago", ago(at) - seconds.cast_signed())
                .with_remedy("Request a new one, or raise {setting}.")
        }
        SecretFate::Mismatched => {
            let name = if is_code { "one_time_code.other_type" } else { "one_time_link.other_type" };
            let reason = format!("The {what} is valid, but for another `type` or recipient than the request names.");
            DecisionRecord::refused(name, reason).with_remedy("Send the `type` of the message, and its recipient.")
        }
    };
    record
        .with_setting("GOTRUE_MAILER_OTP_EXP")
        .with_value(format!("{} s", lifetime.as_secs()))
        .with_input("lifetime_seconds", lifetime.as_secs())
}

/// Explains a PKCE exchange without the verifier, or with one that does not match.
pub fn explain_verifier(is_missing: bool) -> DecisionRecord {
    let (name, reason) = if is_missing {
        ("pkce.verifier_missing", "The request has no code verifier: the client has lost the one of this flow.")
    } else {
        ("pkce.verifier_mismatch", "The code verifier is that of another flow than the one of the code.")
    };
    DecisionRecord::refused(name, reason).with_remedy(
        "Exchange the code in the browser, and at the origin, that started the flow: the verifier is in its storage or \
         cookies. A second sign-in in the same browser replaces it; localhost and 127.0.0.1 do not share it.",
    )
}

/// Explains a password that violates the rules. The password itself is not recorded.
pub fn explain_weak_password(password: &str, weak: &WeakPassword, policy: &PasswordPolicy) -> DecisionRecord {
    let reasons: Vec<&str> = weak.reasons.iter().map(|reason| reason.as_str()).collect();
    let (setting, value) = match weak.reasons.first() {
        Some(WeakPasswordReason::Length) | None => ("GOTRUE_PASSWORD_MIN_LENGTH", policy.min_length.to_string()),
        Some(WeakPasswordReason::Characters) => {
            ("GOTRUE_PASSWORD_REQUIRED_CHARACTERS", policy.required_characters.join(":"))
        }
        Some(WeakPasswordReason::Pwned) => ("GOTRUE_PASSWORD_HIBP_ENABLED", "true".to_owned()),
    };
    let lacks = |set: &&String| !set.is_empty() && !password.chars().any(|character| set.contains(character));
    let missing: Vec<String> = policy.required_characters.iter().filter(lacks).cloned().collect();
    DecisionRecord::refused("password.weak", weak.message.clone())
        .with_setting(setting)
        .with_value(value)
        .with_input("reasons", reasons)
        .with_input("length", password.len())
        .with_input("minimum_length", policy.min_length)
        .with_input("missing_characters", missing)
        .with_remedy("Choose a password that follows the rule, or change {setting}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fate_of_a_secret_decides_its_explanation() {
        let at = |seconds| Time::from_timestamp(seconds, 0).unwrap();
        let explain = |is_code, fate| {
            explain_secret(RefusedSecret { is_code, fate, lifetime: Duration::from_mins(1), now: at(100) })
        };
        for (fate, name, reason) in [
            (SecretFate::Unknown, "one_time_link.unknown", "No such link was issued since the start of the server."),
            (SecretFate::Used(at(90)), "one_time_link.used", "The link was used 10 s ago; it works once."),
            (SecretFate::Superseded(at(95)), "one_time_link.superseded", "A newer message replaced the link 5 s ago."),
            (
                SecretFate::Expired(at(0)),
                "one_time_link.expired",
                "The link was issued 100 s ago and is valid for 60 s.",
            ),
        ] {
            let record = explain(false, fate);
            assert_eq!((record.name, &*record.reason), (name, reason));
        }
        let expired = explain(true, SecretFate::Expired(at(0)));
        assert!(expired.inputs.contains(&("expired_seconds_ago", 40.into())), "{expired:?}");
        assert_eq!(explain(true, SecretFate::Unknown).name, "one_time_code.wrong");
        assert_eq!(explain(true, SecretFate::Mismatched).name, "one_time_code.other_type");
    }

    #[test]
    fn weak_password_is_explained_without_the_password() {
        let policy = PasswordPolicy {
            min_length: 10,
            required_characters: vec!["abc".into(), "0123".into()],
            ..PasswordPolicy::default()
        };
        let weak = WeakPassword::from_reasons(vec![WeakPasswordReason::Length], &policy).unwrap();
        let record = explain_weak_password("secreta", &weak, &policy);
        assert_eq!(
            (record.setting.as_deref(), record.value.as_deref()),
            (Some("GOTRUE_PASSWORD_MIN_LENGTH"), Some("10"))
        );
        assert!(record.inputs.contains(&("missing_characters", vec!["0123".to_owned()].into())), "{record:?}");
        assert!(!format!("{record:?}").contains("secreta"), "{record:?}");
    }
}
