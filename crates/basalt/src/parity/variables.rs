//! What becomes of variables: those of the settings table, and names that only the reference knows.

use std::collections::BTreeMap;

use gotrue_rs::config::{Setting, ValueType};
use platform::nearest::find_nearest;

use super::differences::{Profile, find_differences};
use super::finding::Finding;

/// Names that the reference had once, or that are often taken for others.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "GOTRUE_EXTERNAL_SKIP_NONCE_CHECK",
        "the reference does not read it; the name is GOTRUE_EXTERNAL_<PROVIDER>_SKIP_NONCE_CHECK",
    ),
    (
        "GOTRUE_EXTERNAL_GOOGLE_ADDITIONAL_CLIENT_IDS",
        "the reference does not read it; add the ids to GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID",
    ),
    ("GOTRUE_MAILER_EXTERNAL_HOST", "the reference does not read it; the name is GOTRUE_MAILER_EXTERNAL_HOSTS"),
    ("GOTRUE_JWT_ALGORITHM", "the reference does not read it; the keys decide"),
    ("GOTRUE_INSTANCE_ID", "the reference does not read it any more"),
    ("GOTRUE_MULTI_INSTANCE_MODE", "the reference does not read it any more"),
    ("GOTRUE_NETLIFY_MICROSERVICE_ID", "the reference does not read it any more"),
    ("GOTRUE_COOKIE_KEY", "the reference does not read it any more; it sets no cookies"),
    ("GOTRUE_COOKIE_DOMAIN", "the reference does not read it any more; it sets no cookies"),
    ("GOTRUE_COOKIE_DURATION", "the reference does not read it any more; it sets no cookies"),
    ("GOTRUE_WEBHOOK_URL", "the reference does not read it any more; use GOTRUE_HOOK_<HOOK>_URI"),
    ("GOTRUE_WEBHOOK_SECRET", "the reference does not read it any more; use GOTRUE_HOOK_<HOOK>_SECRETS"),
    ("GOTRUE_WEBHOOK_RETRIES", "the reference does not read it any more"),
    ("GOTRUE_WEBHOOK_TIMEOUT_SEC", "the reference does not read it any more"),
    ("GOTRUE_WEBHOOK_EVENTS", "the reference does not read it any more"),
];

/// Ends of names that are internal fields of the reference, which it fills itself.
const INTERNAL_ENDS: &[&str] = &[
    "_HOOKNAME",
    "VAL",
    "_SMSTEMPLATE",
    "_RSAPRIVATEKEY",
    "_RSAPRIVATEKEYNEXT",
    "_RSAPUBLICKEY",
    "_RSAPUBLICKEYNEXT",
    "_CERTIFICATE",
    "_CERTIFICATENEXT",
    "_FROMADDRESS",
    "_URIALLOWLISTMAP",
    "_SENT_EVENTS",
    "_SENT_OVERTIME",
    "_SENT_TYP",
    "_SENT_VAL",
];

/// Settings without effect that are about tuning or the form of log lines: nothing else changes.
const MINOR: &[&str] =
    &["GOTRUE_DB_", "GOTRUE_LOG_", "GOTRUE_TRACING_", "GOTRUE_OPERATOR_TOKEN", "GOTRUE_API_ENDPOINT"];

pub(super) type KnownVariables = BTreeMap<String, &'static Setting>;

/// Returns what becomes of a variable of the auth server; `None` for a variable of another program.
///
/// `known` is [`settings::names`]; `lookup` returns the value of another variable.
///
/// [`settings::names`]: gotrue_rs::config::settings::names
pub(super) fn judge(
    known: &KnownVariables,
    name: &str,
    value: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<Finding>> {
    if let Some(setting) = known.get(name) {
        return Some(judge_setting(setting, name, value, lookup));
    }
    let of_file = name.strip_suffix("_FILE").and_then(|secret| known.get(secret)).filter(|setting| setting.hidden);
    if of_file.is_some() {
        return Some(vec![Finding::honoured(name)]);
    }
    if !name.starts_with("GOTRUE_") && !name.starts_with("BASALT_") {
        return None;
    }
    if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(retired, _)| *retired == name) {
        return Some(vec![Finding::no_effect(name, *why, false)]);
    }
    if name.starts_with("GOTRUE_") && INTERNAL_ENDS.iter().any(|end| name.ends_with(end)) {
        return Some(vec![Finding::no_effect(
            name,
            "an internal field of the reference, which it fills itself",
            false,
        )]);
    }
    let limit = (name.chars().count() / 4).clamp(1, 6);
    let nearest = find_nearest(name, known.keys().map(String::as_str), limit).map(str::to_owned);
    Some(vec![Finding::unknown(name, nearest)])
}

fn judge_setting(setting: &Setting, name: &str, value: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<Finding> {
    if let ValueType::Unused(_, why) = setting.value_type {
        let is_set = !matches!(value, "" | "false" | "0" | "f");
        let matters = is_set && !why.contains("the reference does not use it") && !is_minor(name);
        return vec![Finding::no_effect(name, why, matters)];
    }
    let mut findings = find_differences(name, value, Profile::Everywhere, lookup);
    if findings.is_empty() {
        findings.push(Finding::honoured(name));
    }
    findings
}

fn is_minor(name: &str) -> bool {
    MINOR.iter().any(|minor| name.starts_with(minor))
}

#[cfg(test)]
mod tests {
    use gotrue_rs::config::settings;
    use proptest::prelude::*;

    use super::super::finding::Verdict;
    use super::*;

    fn judge_alone(name: &str, value: &str) -> Option<Vec<Finding>> {
        judge(&settings::names(), name, value, &|_| None)
    }

    #[test]
    fn every_variable_of_the_table_has_a_verdict() {
        for (name, setting) in settings::names() {
            let findings = judge_alone(&name, setting.example).expect("a verdict");
            assert!(!findings.is_empty(), "{name}");
            assert!(
                findings.iter().all(|finding| !matches!(finding.verdict, Verdict::Unknown(_))),
                "{name}: {findings:?}"
            );
            let is_unused = matches!(setting.value_type, ValueType::Unused(..));
            assert_eq!(is_unused, matches!(findings[0].verdict, Verdict::NoEffect(_)), "{name}");
        }
    }

    #[test]
    fn every_variable_of_the_reference_is_known() {
        let document = include_str!("../../../../docs/reference/configuration-variables.md");
        let is_part =
            |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_';
        let section = document.split("\n## 3").next().unwrap_or_default();
        let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let names: Vec<&str> = cells.filter(|cell| cell.len() > 3 && cell.chars().all(is_part)).collect();
        assert!(names.len() > 40, "{names:?}");
        for name in names {
            let is_known = |name: &str| {
                judge_alone(name, "x").is_some_and(|found| !matches!(found[0].verdict, Verdict::Unknown(_)))
            };
            assert!(is_known(&format!("GOTRUE_{name}")) || is_known(name), "{name}");
        }
    }

    #[test]
    fn names_are_distinguished() {
        let verdict = |name: &str, value: &str| judge_alone(name, value).map(|found| found[0].verdict.clone());
        assert_eq!(verdict("GOTRUE_JWT_EXP", "3600"), Some(Verdict::Honoured));
        assert_eq!(verdict("GOTRUE_SMTP_PASS_FILE", "/run/secrets/pass"), Some(Verdict::Honoured));
        assert_eq!(verdict("GOTRUE_JWT_EXPP", ""), Some(Verdict::Unknown(Some("GOTRUE_JWT_EXP".to_owned()))));
        assert_eq!(verdict("GOTRUE_SOMETHING_ENTIRELY_DIFFERENT", ""), Some(Verdict::Unknown(None)));
        assert_eq!(verdict("POSTGRES_PASSWORD", "x"), None);
        assert!(matches!(verdict("GOTRUE_DB_DB_NAMESPACE", "app"), Some(Verdict::Different { .. })));
        assert!(matches!(verdict("GOTRUE_COOKIE_KEY", "x"), Some(Verdict::NoEffect(_))));
        assert!(matches!(verdict("DB_NAMESPACE", "app"), Some(Verdict::Different { .. })));
    }

    #[test]
    fn a_variable_without_effect_matters_if_the_reference_uses_it() {
        let matters = |name: &str, value: &str| judge_alone(name, value).is_some_and(|found| found[0].matters);
        assert!(matters("GOTRUE_PROFILER_ENABLED", "true"));
        assert!(!matters("GOTRUE_PROFILER_ENABLED", "false"));
        assert!(!matters("GOTRUE_OPERATOR_TOKEN", "x"));
        assert!(!matters("GOTRUE_DB_MAX_IDLE_POOL_SIZE", "5"));
    }

    proptest! {
        #[test]
        fn arbitrary_names_and_values_do_not_panic(name in "(GOTRUE_|BASALT_|)\\PC{0,20}", value in "\\PC{0,20}") {
            judge_alone(&name, &value);
        }

        #[test]
        fn arbitrary_values_of_known_names_do_not_panic(value in "[a-z:,/*?@{}\"0-9é]{0,30}") {
            let known = settings::names();
            for name in known.keys().step_by(7) {
                judge(&known, name, &value, &|_| Some(value.clone()));
            }
        }
    }
}
