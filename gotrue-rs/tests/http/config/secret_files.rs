//! Secrets in files and in credentials of systemd.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use gotrue_rs::config::{Vars, load, load_telemetry, settings};
use proptest::prelude::*;

use super::{complaints, config, variables};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("basalt-secrets-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), content).expect("a file");
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn without(name: &str, more: &[(&str, &str)]) -> Vars {
    let mut all = variables(&[]);
    all.remove(name);
    all.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Vars::from_map(all)
}

#[test]
fn every_secret_is_read_from_the_file_of_its_variable() {
    let folder = Folder::new("every");
    let names = settings::names();
    for (name, setting) in names.iter().filter(|(_, setting)| setting.hidden) {
        let file_name = format!("{name}_FILE");
        assert!(!names.contains_key(&file_name), "{file_name} is another setting");
        let file = folder.write(name, format!("{}\n", setting.example));
        let from_file = load(&without(name, &[(&file_name, &file)]));
        let from_value = load(&without(name, &[(name, setting.example)]));
        assert_eq!(from_file, from_value, "{name}");
    }
}

#[test]
fn credentials_are_found_by_name_with_and_without_prefix() {
    let folder = Folder::new("credentials");
    folder.write("GOTRUE_JWT_SECRET", "a secret in a credential of systemd\r\n");
    folder.write("basalt_GOTRUE_SMTP_PASS", "the password");
    let more = [("CREDENTIALS_DIRECTORY", &*folder.path("")), ("GOTRUE_SMTP_HOST", "smtp.example.com")];
    let mail = [("GOTRUE_SMTP_ADMIN_EMAIL", "shop@example.com")];
    let config = load(&without("GOTRUE_JWT_SECRET", &[&more[..], &mail[..]].concat())).expect("valid settings");
    assert_eq!(config.jwt.secret.reveal(), "a secret in a credential of systemd");
    assert_eq!(config.smtp.expect("a mail server").pass.reveal(), "the password");
    let telemetry = BTreeMap::from([
        ("CREDENTIALS_DIRECTORY".to_owned(), folder.path("")),
        ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "https://example.com".to_owned()),
    ]);
    folder.write("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hidden");
    let export = load_telemetry(&Vars::from_map(telemetry)).expect("valid settings").0.expect("an export");
    let headers = export.traces.expect("traces").headers;
    assert_eq!((&*headers[0].0, headers[0].1.reveal()), ("authorization", "hidden"));
}

#[test]
fn unusable_file_is_one_problem_without_its_content() {
    let folder = Folder::new("unusable");
    let large = folder.write("large", "s".repeat(65_537));
    let binary = folder.write("binary", [0xff, 0xfe]);
    let empty = folder.write("empty", "\n");
    let missing = folder.path("missing");
    for (path, complaint) in [
        (&missing, "which does not exist"),
        (&large, "which has more than 65536 bytes"),
        (&binary, "which is not text in UTF-8"),
        (&empty, "which is empty"),
        (&folder.path(""), "which is a folder"),
    ] {
        let problems = load(&without("GOTRUE_JWT_SECRET", &[("GOTRUE_JWT_SECRET_FILE", path)])).expect_err("a problem");
        let reported: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let expected = format!(
            "GOTRUE_JWT_SECRET_FILE: is in the file {path}, {complaint}. Example: GOTRUE_JWT_SECRET_FILE=/run/secrets/name"
        );
        assert_eq!(reported, [expected]);
    }
}

#[test]
fn invalid_value_in_a_file_is_reported_without_the_value() {
    let folder = Folder::new("invalid");
    let file = folder.write("url", "not a url of a database\n");
    let problems = load(&without("DATABASE_URL", &[("DATABASE_URL_FILE", &file)])).expect_err("a problem");
    let reported = problems.iter().map(ToString::to_string).collect::<String>();
    assert!(reported.starts_with("DATABASE_URL: the value (23 characters, not shown)"), "{reported}");
    assert!(!reported.contains("not a url"), "{reported}");
}

#[test]
fn secret_given_twice_is_refused_and_an_empty_variable_is_not_set() {
    let folder = Folder::new("twice");
    let file = folder.write("secret", "the other secret of this installation");
    let twice = "GOTRUE_JWT_SECRET_FILE: is set, and so is GOTRUE_JWT_SECRET; remove one of the two. \
                 Example: GOTRUE_JWT_SECRET_FILE=/run/secrets/name";
    assert_eq!(complaints(&[("GOTRUE_JWT_SECRET_FILE", &file)]), [twice]);
    let empty = config(&[("GOTRUE_JWT_SECRET", ""), ("GOTRUE_JWT_SECRET_FILE", &file)]);
    assert_eq!(empty.jwt.secret.reveal(), "the other secret of this installation");
    assert!(complaints(&[("GOTRUE_JWT_SECRET_FILE", "")]).is_empty());

    folder.write("GOTRUE_JWT_SECRET", "a credential");
    let both = complaints(&[("CREDENTIALS_DIRECTORY", &folder.path(""))]);
    assert!(both[0].starts_with("GOTRUE_JWT_SECRET: is set, and so is the credential GOTRUE_JWT_SECRET;"), "{both:?}");
}

#[test]
fn file_of_a_setting_that_is_no_secret_is_not_read() {
    let folder = Folder::new("plain");
    let file = folder.write("url", "https://other.example.com");
    assert_eq!(config(&[("GOTRUE_SITE_URL_FILE", &file)]).policy.site.site_url, "https://shop.example.com");
}

proptest! {
    #[test]
    fn value_in_a_file_loses_one_line_ending_only(value in "[^\r\n]{1,40}(\n[^\r\n]{1,9}){0,2}", ending in "(\r?\n)?") {
        let folder = Folder::new("round-trip");
        let path = folder.write("value", format!("{value}{ending}"));
        let vars = Vars::from_map(BTreeMap::from([("A_FILE".to_owned(), path)]));
        prop_assert_eq!(vars.find_secret("A"), Ok(Some(value)));
    }
}
