//! Mail templates of `config.toml`.
//! Local files are read and validated at startup, before the first message; URLs are fetched when needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gotrue_rs::config::Notice;
use gotrue_rs::ports::mail::template::check::{Finding, find_problems, lacks_secret};
use gotrue_rules::domain::policy::MailKind;

use super::read::{Value, Values};
use super::settings::{ServerFacts, Settings};
use crate::problem::{Problem, locate};

/// Maximum size of a template, in bytes: the auth server's own limit.
const MAX_TEMPLATE_BYTES: usize = 1_000_000;

impl Settings {
    /// Puts the headers of `[basalt.mail]`, which every mail carries.
    pub(super) fn put_mail_headers(&mut self, values: &Values) {
        let mut headers = BTreeMap::new();
        let mut origin = None;
        for value in values.enabled_values() {
            let path: Vec<&str> = value.path.iter().map(String::as_str).collect();
            let name = match path[..] {
                ["basalt", "mail", "headers", name] => name,
                ["basalt", "mail", "reply_to"] if !value.text.contains('@') => {
                    self.report_problem(value, "must be an e-mail address, such as \"help@example.com\"");
                    continue;
                }
                ["basalt", "mail", "reply_to"] => "Reply-To",
                _ => continue,
            };
            headers.insert(name, [&value.text]);
            origin = Some(value);
        }
        if let Some(origin) = origin {
            self.put_from("SMTP_HEADERS", origin, serde_json::json!(headers).to_string());
        }
    }

    /// Puts the body or subject of `[auth.email.template.ID]` or `[auth.email.notification.ID]`.
    pub(super) fn put_mail_template(&mut self, value: &Value, facts: &ServerFacts<'_>) {
        let path: Vec<&str> = value.path.iter().map(String::as_str).collect();
        let name = match path[..] {
            ["auth", "email", "template", id, "content_path" | "subject"] => id.to_owned(),
            ["auth", "email", "notification", id, "content_path" | "subject"] => format!("{id}_notification"),
            _ => return,
        };
        let Some(kind) = MailKind::ALL.into_iter().find(|kind| kind.as_str() == name) else { return };
        match path.last() {
            Some(&"subject") => self.check_subject(value, kind),
            _ => self.put_body(value, kind, facts),
        }
    }

    fn check_subject(&mut self, value: &Value, kind: MailKind) {
        for finding in find_problems(kind, &value.text) {
            let key = value.path.join(".");
            if finding.is_error {
                self.problems.push(Problem { line: value.line, text: format!("{key}: {}", finding.text) });
            } else {
                self.notices.push(Notice::warning(locate(value.line, &key), finding.text));
            }
        }
    }

    fn put_body(&mut self, value: &Value, kind: MailKind, facts: &ServerFacts<'_>) {
        let setting = format!("MAILER_TEMPLATES_{}", kind.as_str().to_uppercase());
        if value.text.starts_with("http://") || value.text.starts_with("https://") {
            return self.put_from(&setting, value, &value.text);
        }
        // Some paths of the CLI's file are relative to its folder, others to the parent folder.
        let places = [Some(facts.folder), facts.folder.parent()];
        let file = places.into_iter().flatten().map(|folder| folder.join(&value.text)).find(|file| file.is_file());
        let Some(file) = file else {
            return self.report_problem(value, &format!("names a file that is not there: {}", value.text));
        };
        self.put_from(&setting, value, format!("file://{}", file.display()));
        let shown = relative_to_current_dir(&file);
        match read_template(&file) {
            Ok(text) => self.check_body(kind, &shown.display().to_string(), &text),
            Err(complaint) => {
                self.problems.push(Problem { line: None, text: format!("{}: {complaint}", shown.display()) });
            }
        }
    }

    fn check_body(&mut self, kind: MailKind, file: &str, text: &str) {
        for Finding { line, text, is_error: is_mistake, .. } in find_problems(kind, text) {
            let place = if line == 0 { file.to_owned() } else { format!("{file}:{line}") };
            if is_mistake {
                self.problems.push(Problem { line: None, text: format!("{place}: {text}") });
            } else {
                self.notices.push(Notice::warning(place, text));
            }
        }
        if lacks_secret(kind, text) {
            let text = "shows neither .ConfirmationURL nor .Token nor .TokenHash: whoever gets this mail can do nothing with it";
            self.notices.push(Notice::warning(file, text));
        }
    }
}

fn read_template(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() > MAX_TEMPLATE_BYTES {
        return Err(format!(
            "is {} bytes long, and a mail of more than {MAX_TEMPLATE_BYTES} would be cut off",
            bytes.len()
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        format!("is not written in UTF-8, in line {line}")
    })
}

/// Returns the path relative to the current folder, if it is below it.
fn relative_to_current_dir(file: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file).components().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::{ConfigFile, ServerFacts, Settings};
    use super::*;

    fn settings(toml: &str, mail: &[u8]) -> (Settings, PathBuf) {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("basalt-mails-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("templates")).expect("a folder");
        fs::write(folder.join("templates/magic.html"), mail).expect("a file");
        let file = ConfigFile::read(Path::new("config.toml"), toml, &|_| Ok(None)).expect("no problem");
        let settings = file.settings(&ServerFacts { api_url: "http://127.0.0.1:54321", folder: &folder });
        fs::remove_dir_all(&folder).expect("removed");
        (settings, folder)
    }

    const MAGIC: &str = "[auth.email.template.magic_link]\ncontent_path = \"./templates/magic.html\"\n";

    #[test]
    fn template_error_reports_file_line_and_variable() {
        let (settings, folder) = settings(MAGIC, b"<h1>Hello</h1>\n<p>{{ .Tokn }}</p>");
        let [problem] = &settings.problems[..] else { panic!("one problem: {:?}", settings.problems) };
        let place = folder.join("templates/magic.html");
        assert!(
            problem
                .to_string()
                .starts_with(&format!("{}:2: unknown variable .Tokn; known are .SiteURL", place.display())),
            "{problem}"
        );
    }

    #[test]
    fn valid_template_file_becomes_setting() {
        let (settings, folder) = settings(MAGIC, b"<p>{{ .Token }}</p>");
        assert!(settings.problems.is_empty() && settings.notices.is_empty());
        let place = format!("file://{}", folder.join("./templates/magic.html").display());
        assert_eq!(settings.vars["GOTRUE_MAILER_TEMPLATES_MAGIC_LINK"], place);
    }

    #[test]
    fn unreadable_template_files_are_rejected() {
        let long = vec![b'x'; MAX_TEMPLATE_BYTES + 1];
        for (mail, reported) in [(&b"a\nb\xff"[..], "is not written in UTF-8, in line 2"), (&long, "would be cut off")]
        {
            let (settings, _) = settings(MAGIC, mail);
            assert!(settings.problems[0].text.contains(reported), "{:?}", settings.problems);
        }
        let (settings, _) = settings(&MAGIC.replace("magic.html", "none.html"), b"");
        assert!(settings.problems[0].to_string().starts_with("line 2: auth.email.template.magic_link.content_path"));
    }

    #[test]
    fn subjects_are_checked_and_template_urls_are_kept() {
        let toml = "[auth.email.template.invite]\nsubject = \"{{ .Tokn }}\"\ncontent_path = \"https://example.com/i.html\"\n\
                    [auth.email.notification.password_changed]\nenabled = true\nsubject = \"{{ .Token }} changed\"\n";
        let (settings, _) = settings(toml, b"");
        assert_eq!(settings.vars["GOTRUE_MAILER_TEMPLATES_INVITE"], "https://example.com/i.html");
        let [problem] = &settings.problems[..] else { panic!("one problem: {:?}", settings.problems) };
        assert!(problem.to_string().starts_with("line 2: auth.email.template.invite.subject: unknown variable .Tokn"));
        let [notice] = &settings.notices[..] else { panic!("one notice: {:?}", settings.notices) };
        assert_eq!(notice.name, "line 6: auth.email.notification.password_changed.subject");
    }

    #[test]
    fn mail_headers_become_setting() {
        let toml = "[basalt.mail]\nreply_to = \"help@example.com\"\nauthorized_addresses = [\"a@example.com\", \"b@example.com\"]\n\
                    [basalt.mail.headers]\nX-Kind = \"auth/$messageType\"\n";
        let (settings, _) = settings(toml, b"");
        let headers = r#"{"Reply-To":["help@example.com"],"X-Kind":["auth/$messageType"]}"#;
        assert_eq!(settings.vars["GOTRUE_SMTP_HEADERS"], headers);
        assert_eq!(settings.vars["GOTRUE_EXTERNAL_EMAIL_AUTHORIZED_ADDRESSES"], "a@example.com,b@example.com");
        let (settings, _) = self::settings("[basalt.mail]\nreply_to = \"nobody\"\n", b"");
        assert!(settings.problems[0].to_string().starts_with("line 2: basalt.mail.reply_to must be"));
    }

    #[test]
    fn template_without_link_or_token_yields_notice() {
        let (settings, _) = settings(MAGIC, b"<p>Welcome!</p>");
        assert!(settings.problems.is_empty());
        assert!(settings.notices[0].text.starts_with("shows neither .ConfirmationURL nor"));
    }
}
