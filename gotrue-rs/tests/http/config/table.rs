//! The settings table: effect of every row, examples, defaults and generated documentation.

use std::collections::BTreeMap;
use std::path::Path;

use gotrue_rs::config::settings::{SECTIONS, names};
use gotrue_rs::config::{Setting, ValueType, Vars, load, reference_document};

use super::{REQUIRED, RSA_KEY, config, variables};

fn rows() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// Every row with each member of its family.
fn members() -> impl Iterator<Item = (&'static Setting, &'static str)> {
    rows().flat_map(|row| row.family.members().into_iter().map(move |member| (row, member)))
}

/// Every variable at its example, in a set that holds together.
fn examples() -> BTreeMap<String, String> {
    let mut all: BTreeMap<_, _> =
        members().map(|(row, member)| (row.names(member).remove(0), row.example.to_owned())).collect();
    all.remove("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS");
    for key in ["GOTRUE_SAML_PRIVATE_KEY", "GOTRUE_SAML_PRIVATE_KEY_NEXT"] {
        all.insert(key.to_owned(), RSA_KEY.to_owned());
    }
    all
}

/// The same in the light that shows what `name` does.
fn examples_for(name: &str) -> BTreeMap<String, String> {
    let mut all = examples();
    for provider in ["twilio_verify", "messagebird", "textlocal", "vonage"] {
        if name.starts_with(&format!("GOTRUE_SMS_{}_", provider.to_uppercase())) {
            all.insert("GOTRUE_SMS_PROVIDER".to_owned(), provider.to_owned());
        }
    }
    // The settings of one kind of data override the common ones, and metrics are exported by one exporter only.
    if let Some(common) = name.strip_prefix("OTEL_EXPORTER_OTLP_") {
        for signal in ["TRACES", "METRICS"] {
            all.remove(&format!("OTEL_EXPORTER_OTLP_{signal}_{common}"));
            all.remove(&format!("GOTRUE_{}_OTEL_EXPORTER_OTLP_{common}", signal.replace("TRACES", "TRACING")));
        }
    }
    if name.contains("METRIC") && (name.contains("OTLP") || name.contains("INTERVAL")) {
        all.insert("GOTRUE_METRICS_EXPORTER".to_owned(), "opentelemetry".to_owned());
    }
    match name {
        "GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS" => {
            all.insert("GOTRUE_MAILER_AUTOCONFIRM".to_owned(), "false".to_owned());
            all.insert(name.to_owned(), "true".to_owned())
        }
        _ => None,
    };
    all
}

#[test]
fn every_variable_changes_something() {
    for (row, member) in members() {
        let name = row.names(member).remove(0);
        if row.example == row.default {
            continue;
        }
        let mut given = examples_for(&name);
        let with = load(&Vars::from_map(given.clone())).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        assert!(given.remove(&name).is_some(), "{name}");
        let without = load(&Vars::from_map(given));
        assert_ne!(without, Ok(with), "{name} has no effect");
    }
}

#[test]
fn every_default_is_what_an_unset_variable_means() {
    let unset = config(&[]);
    for (row, member) in members().filter(|(row, _)| !row.default.is_empty()) {
        let name = row.names(member).remove(0);
        assert_eq!(config(&[(&name, row.default)]), unset, "{name}={}", row.default);
    }
}

#[test]
fn required_variables_alone_give_the_default_policy() {
    let config = config(&[]);
    let mut expected = gotrue_rs::config::Config::default();
    expected.policy.site.site_url = "https://shop.example.com".to_owned();
    expected.policy.site.external_url = "https://api.example.com/auth/v1".to_owned();
    assert_eq!(config.policy, expected.policy);
    assert_eq!((config.listen, config.log, config.smtp), (expected.listen, expected.log, None));
}

#[test]
fn alias_is_accepted_and_the_name_takes_precedence() {
    for (row, member) in members().filter(|(row, _)| row.alias.is_some() && !row.required) {
        let (name, alias) = (row.names(member).remove(0), row.names(member).remove(1));
        let by_name = config(&[(&name, row.example), (&alias, "nonsense")]);
        let by_alias = config(&[(&alias, row.example)]);
        if !matches!(row.value_type, ValueType::Unused(..)) && alias != "SECRETS" {
            assert_eq!(by_name.policy, by_alias.policy, "{name}");
            assert_eq!(by_name.listen, by_alias.listen, "{name}");
            assert_eq!(by_name.outbound, by_alias.outbound, "{name}");
        }
    }
}

#[test]
fn every_row_has_a_description_and_an_example() {
    for row in rows() {
        assert!(!row.example.is_empty(), "{}", row.name);
        let unused = matches!(row.value_type, ValueType::Unused(..));
        assert_eq!(unused, row.doc.is_empty(), "{}: words belong to a setting that does something", row.name);
        assert!(unused || row.doc.ends_with('.'), "{}: {}", row.name, row.doc);
        assert_eq!(row.name.contains('*'), !row.family.placeholder().is_empty(), "{}", row.name);
    }
}

#[test]
fn names_are_unique() {
    let mut seen = BTreeMap::new();
    for (row, member) in members() {
        for name in row.names(member) {
            let before = seen.insert(name.clone(), row.name);
            let shared = name == "SECRETS" || name == "OTEL_EXPORTER_OTLP_PROTOCOL";
            assert!(before.is_none() || shared, "{name}: {before:?} and {}", row.name);
        }
    }
    assert_eq!(seen.len(), names().len());
}

#[test]
fn required_variables_are_as_documented() {
    let required: Vec<_> = rows().filter(|row| row.required).map(|row| row.names("").pop().unwrap()).collect();
    let mut expected: Vec<_> = REQUIRED.iter().map(|(name, _)| (*name).to_owned()).collect();
    expected.sort();
    let mut sorted = required;
    sorted.sort();
    assert_eq!(sorted, expected);
}

#[test]
fn generated_documentation_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let document = reference_document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &document).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == document, "docs/configuration.md is stale; run: UPDATE_DOCS=1 cargo test -p gotrue-rs config");
}

#[test]
fn every_row_is_in_the_documentation() {
    let document = reference_document();
    for row in rows() {
        assert!(document.contains(&row.name.replace('*', row.family.placeholder())), "{}", row.name);
    }
    assert_eq!(variables(&[]).len(), REQUIRED.len());
}
