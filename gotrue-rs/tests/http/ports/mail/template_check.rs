use std::sync::Arc;

use chrono::{DateTime, TimeDelta};
use gotrue_rs::ports::mail::template::check::{find_problems, lacks_secret};
use gotrue_rs::ports::mail::template::{MailTemplates, TemplateVariables, list_variables};
use gotrue_rules::domain::policy::{MailKind, MailPolicy, SitePolicy};
use platform::http_client::{HttpClient, OutboundOptions};
use proptest::prelude::*;

use crate::ports::pages::Pages;

fn reported_problems(kind: MailKind, text: &str) -> Vec<String> {
    let reported = find_problems(kind, text).into_iter();
    reported
        .map(|problem| format!("{}{}: {}", if problem.is_error { "" } else { "odd, " }, problem.line, problem.text))
        .collect()
}

#[test]
fn unknown_variable_is_reported_with_its_line() {
    let text = "<p>Hello</p>\n<p>{{ .Tokn }}</p>";
    let expected = "2: unknown variable .Tokn; known are .SiteURL, .SiteHost, .Email, .Data, .ConfirmationURL, .Token, \
                    .TokenHash, .RedirectTo";
    assert_eq!(reported_problems(MailKind::MagicLink, text), [expected]);
}

#[test]
fn unknown_variables_are_found_in_nested_blocks() {
    for (text, line) in [
        ("{{ if .Tokn }}x{{ end }}", 1),
        ("{{ if .Token }}\n{{ .Tokn }}{{ end }}", 2),
        ("{{ if .Token }}{{ else }}\n\n{{ .Tokn }}{{ end }}", 3),
        ("{{ with .Data }}\n{{ $.Tokn }}{{ end }}", 2),
        ("{{ with . }}{{ .Tokn }}{{ end }}", 1),
        ("{{ range .Data.pets }}{{ $.Tokn }}{{ end }}", 1),
        ("{{ printf \"%s\" (print .Tokn) | len }}", 1),
        ("{{ define \"a\" }}\n{{ .Tokn }}{{ end }}{{ template \"a\" . }}", 2),
        ("{{ block \"a\" . }}{{ template \"b\" $ }}{{ end }}{{ define \"b\" }}{{ .Tokn.x }}{{ end }}", 1),
    ] {
        let found = reported_problems(MailKind::Recovery, text);
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("{line}: unknown variable .Tokn")),
            "{text} {found:?}"
        );
    }
}

#[test]
fn dynamic_expressions_are_not_reported() {
    for text in [
        "{{ .Email }} {{ .Data.anything.at.all }} {{ .SiteURL }} {{ $x := .Data }}{{ $x.y }}",
        "{{ range .Data.pets }}{{ .name }}{{ end }}",
        "{{ with .Data.address }}{{ .street }}{{ else }}{{ .Email }}{{ end }}",
        "{{ define \"never called\" }}{{ .Anything }}{{ end }}",
        "{{ define \"of other values\" }}{{ .street }}{{ end }}{{ template \"of other values\" .Data.address }}",
        "{{ index .Data.pets 3 }}",
        "{{/* {{ .Tokn }} */}}",
        "no braces at all { {",
        "",
    ] {
        assert_eq!(reported_problems(MailKind::Recovery, text), [""; 0], "{text}");
    }
}

#[test]
fn syntax_error_is_reported_with_its_line() {
    for (text, expected) in [
        ("a\n{{ if }}", "2: "),
        ("a\nb {{ .Token", "2: "),
        ("{{ if .Token }}", "1: there is an {{ end }} too few or too many"),
        ("{{ if .Token }}x{{ end }}\ny{{ end }}", "2: there is an {{ end }} too few or too many"),
        ("\n{{ upper .Token }}", "2: unknown function upper"),
        ("\n{{ template \"footer\" . }}", "2: no template is defined under the name \"footer\""),
        ("<a href='{{ if .Token }}'{{ end }}>x", "1: "),
    ] {
        let found = reported_problems(MailKind::Recovery, text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text:?} {found:?}");
    }
}

#[test]
fn variable_of_another_message_type_is_a_warning() {
    assert_eq!(
        reported_problems(MailKind::Reauthentication, "{{ .Token }} {{ .ConfirmationURL }}"),
        ["odd, 1: .ConfirmationURL is always empty in this mail; known are .SiteURL, .SiteHost, .Email, .Data, .Token"]
    );
    assert!(lacks_secret(MailKind::Invite, "<p>Welcome!</p>") && !lacks_secret(MailKind::PasswordChanged, ""));
    assert!(!lacks_secret(MailKind::Invite, "{{ .SiteURL }}/hello?token_hash={{ .TokenHash }}"));
}

#[tokio::test]
async fn every_known_variable_is_rendered() {
    for kind in MailKind::ALL {
        let shown = |name: &&str| format!("{name}={{{{ .{name} }}}};");
        let body = list_variables(kind).iter().map(shown).collect::<Vec<_>>().concat();
        let pages = Pages::serve(&[("/x", &body)]).await;
        let mut policy = MailPolicy::default();
        policy.templates.insert(kind, format!("{}/x", pages.base));
        let site = SitePolicy { site_url: "http://shop.example.com".into(), ..SitePolicy::default() };
        let all = MailTemplates::new(&policy, &site, &Arc::new(HttpClient::new(OutboundOptions::default())));
        let data = serde_json::from_str(r#"{"name":"Ann"}"#).expect("an object");
        let variables = super::template::everything(&data);
        let html = all.render(kind, &variables, DateTime::UNIX_EPOCH).await.expect("a mail").html;
        assert!(!html.contains("=;"), "{kind:?} {html}");
    }
}

#[tokio::test]
async fn fetched_templates_are_checked_before_use() {
    let pages = Pages::serve(&[("/good", "{{ .Token }}"), ("/typo", "\n{{ .Tokn }}")]).await;
    let mut policy = MailPolicy::default();
    for (kind, path) in [(MailKind::Invite, "/good"), (MailKind::Recovery, "/typo"), (MailKind::MagicLink, "/missing")]
    {
        policy.templates.insert(kind, format!("{}{path}", pages.base));
    }
    let all =
        MailTemplates::new(&policy, &SitePolicy::default(), &Arc::new(HttpClient::new(OutboundOptions::default())));
    let now = DateTime::UNIX_EPOCH;
    let reported = all.check_remote(now).await;
    let [typo, missing] = &reported[..] else { panic!("two lines: {reported:?}") };
    assert!(typo.starts_with(&format!("{}/typo:2: unknown variable .Tokn; known are ", pages.base)), "{typo}");
    assert!(
        missing.starts_with("the magic_link mail: fetching http://") && missing.contains("status 404"),
        "{missing}"
    );
    all.render(MailKind::Invite, &TemplateVariables::default(), now).await.expect("a mail");
    assert_eq!(pages.request_count("/good"), 1, "what was fetched is kept");
}

#[tokio::test]
async fn template_file_is_read_for_each_mail() {
    let file = std::env::temp_dir().join(format!("basalt-template-{}.html", std::process::id()));
    let write = |text: &str| std::fs::write(&file, text).expect("a file");
    write("one");
    let mut policy = MailPolicy::default();
    policy.templates.insert(MailKind::Invite, format!("file://{}", file.display()));
    policy.template_fetch.reloading_enabled = true;
    let all =
        MailTemplates::new(&policy, &SitePolicy::default(), &Arc::new(HttpClient::new(OutboundOptions::default())));
    let html = async || {
        all.render(MailKind::Invite, &TemplateVariables::default(), DateTime::UNIX_EPOCH).await.expect("a mail").html
    };
    assert_eq!(html().await, "one");
    write("two");
    assert_eq!(html().await, "two");
    write("{{ if }}");
    assert_eq!(html().await, "two", "the last good one");
    std::fs::remove_file(&file).expect("removed");
}

#[tokio::test]
async fn expired_template_is_fetched_before_the_mail() {
    let pages = Pages::serve(&[("/c", "one")]).await;
    let mut policy = MailPolicy::default();
    policy.templates.insert(MailKind::Invite, format!("{}/c", pages.base));
    policy.template_fetch.reloading_enabled = true;
    let all =
        MailTemplates::new(&policy, &SitePolicy::default(), &Arc::new(HttpClient::new(OutboundOptions::default())));
    let html = async |at| all.render(MailKind::Invite, &TemplateVariables::default(), at).await.expect("a mail").html;
    assert_eq!(html(DateTime::UNIX_EPOCH).await, "one");
    pages.put("/c", "two");
    assert_eq!(html(DateTime::UNIX_EPOCH + TimeDelta::minutes(20)).await, "two");
}

/// What Go refuses when it parses a text, and what does more work than any mail needs.
#[test]
fn texts_with_unlimited_work_and_undefined_names_are_reported() {
    let doubled = "{{ $x := .Email }}".to_owned() + &"{{ $x = printf \"%s%s\" $x $x }}".repeat(30) + "{{ $x }}";
    let dots = "{{ with printf \"%s%s\" . . }}".repeat(30) + &"{{ end }}".repeat(30);
    let empty = (0..12).fold("{{ define \"t0\" }}{{ end }}".to_owned(), |text, level| {
        text + &format!(
            "{{{{ define \"t{}\" }}}}{}{{{{ end }}}}",
            level + 1,
            format!("{{{{ template \"t{level}\" }}}}").repeat(10)
        )
    });
    for (text, expected) in [
        (doubled, "are joined more than 8 times"),
        (dots, "are joined more than 8 times"),
        ("{{ $x := .Email }}{{ range .Data.a }}{{ $x = print $x $x }}{{ end }}".to_owned(), "or in a loop"),
        (empty + "{{ template \"t12\" }}", "expand to more than 10000 parts"),
        ("{{ define \"a\" }}{{ template \"b\" }}{{ end }}{{ define \"b\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}".to_owned(), "calls itself"),
        ("{{ upper .Email }}".to_owned(), "unknown function upper"),
        ("{{ if $x := .Email }}{{ $x }}{{ end }}{{ $x }}".to_owned(), "undefined variable $x"),
        ("{{ $x = 1 }}".to_owned(), "undefined variable $x"),
        ("{{ define \"a\" }}{{ $x }}{{ end }}{{ $x := 1 }}{{ $x }}".to_owned(), "undefined variable $x"),
    ] {
        let found = find_problems(MailKind::Recovery, &text);
        assert!(found.iter().any(|problem| problem.is_refused && problem.text.contains(expected)), "{expected}: {found:?}");
    }
    for text in [
        "{{ $x := .Email }}{{ if .Token }}{{ $x = .Token }}{{ else }}{{ $x }}{{ end }}{{ $x }}",
        "{{ range $i, $item := .Data.items }}{{ $i }}{{ $item.name }}{{ $ }}{{ end }}",
        "{{ with $x := .Data.a }}{{ $x }}{{ else }}{{ $x }}{{ end }}",
        "{{ $full := printf \"%s %s\" .Data.first .Data.last }}{{ $full }}",
        "{{ define \"row\" }}<p>{{ . }}</p>{{ end }}{{ template \"row\" .Email }}{{ template \"row\" .Token }}",
    ] {
        assert!(!find_problems(MailKind::Recovery, text).iter().any(|problem| problem.is_refused), "{text}");
    }
}

proptest! {
    #[test]
    fn arbitrary_templates_never_panic(parts in proptest::collection::vec(part(), 0..12)) {
        let text = parts.concat();
        for finding in find_problems(MailKind::EmailChange, &text) {
            prop_assert!(finding.line <= text.lines().count() + 1);
        }
    }
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,6}",
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("\n".to_owned()),
        Just("{{ if .Token }}".to_owned()),
        Just("{{ range $i, $x := .Data }}".to_owned()),
        Just("{{ with $ }}".to_owned()),
        Just("{{ else }}".to_owned()),
        Just("{{ end }}".to_owned()),
        Just("{{ define \"a\" }}".to_owned()),
        Just("{{ template \"a\" . }}".to_owned()),
        Just("<a href=\"".to_owned()),
        Just("<script>".to_owned()),
        Just("{{ .Email | printf \"%s\" }}".to_owned()),
    ]
}
