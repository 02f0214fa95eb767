use std::sync::Arc;

use chrono::{DateTime, TimeDelta};
use gotrue_rs::ports::http_client::{HttpClient, Outbound};
use gotrue_rs::ports::mail::template::check::{findings, lacks_secret};
use gotrue_rs::ports::mail::template::{Templates, Variables, names};
use gotrue_rules::domain::policy::{MailKind, MailPolicy, SitePolicy};
use proptest::prelude::*;

use crate::ports::pages::Pages;

fn told(kind: MailKind, text: &str) -> Vec<String> {
    let told = findings(kind, text).into_iter();
    told.map(|it| format!("{}{}: {}", if it.is_mistake { "" } else { "odd, " }, it.line, it.text)).collect()
}

#[test]
fn a_variable_that_does_not_exist_is_named_with_its_line() {
    let text = "<p>Hello</p>\n<p>{{ .Tokn }}</p>";
    let expected = "2: unknown variable .Tokn; known are .SiteURL, .SiteHost, .Email, .Data, .ConfirmationURL, .Token, \
                    .TokenHash, .RedirectTo";
    assert_eq!(told(MailKind::MagicLink, text), [expected]);
}

#[test]
fn mistakes_are_found_wherever_the_values_of_the_mail_are() {
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
        let found = told(MailKind::Recovery, text);
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("{line}: unknown variable .Tokn")),
            "{text} {found:?}"
        );
    }
}

#[test]
fn what_cannot_be_known_is_not_complained_about() {
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
        assert_eq!(told(MailKind::Recovery, text), [""; 0], "{text}");
    }
}

#[test]
fn what_cannot_be_a_template_is_told_by_line() {
    for (text, expected) in [
        ("a\n{{ if }}", "2: "),
        ("a\nb {{ .Token", "2: "),
        ("{{ if .Token }}", "1: there is an {{ end }} too few or too many"),
        ("{{ if .Token }}x{{ end }}\ny{{ end }}", "2: there is an {{ end }} too few or too many"),
        ("\n{{ upper .Token }}", "2: unknown function upper"),
        ("\n{{ template \"footer\" . }}", "2: no template is defined under the name \"footer\""),
        ("<a href='{{ if .Token }}'{{ end }}>x", "1: "),
    ] {
        let found = told(MailKind::Recovery, text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text:?} {found:?}");
    }
}

#[test]
fn a_variable_of_another_mail_is_odd_and_no_mistake() {
    assert_eq!(
        told(MailKind::Reauthentication, "{{ .Token }} {{ .ConfirmationURL }}"),
        ["odd, 1: .ConfirmationURL is always empty in this mail; known are .SiteURL, .SiteHost, .Email, .Data, .Token"]
    );
    assert!(lacks_secret(MailKind::Invite, "<p>Welcome!</p>") && !lacks_secret(MailKind::PasswordChanged, ""));
    assert!(!lacks_secret(MailKind::Invite, "{{ .SiteURL }}/hello?token_hash={{ .TokenHash }}"));
}

#[tokio::test]
async fn every_variable_that_is_known_is_filled_in() {
    for kind in MailKind::ALL {
        let shown = |name: &&str| format!("{name}={{{{ .{name} }}}};");
        let body = names(kind).iter().map(shown).collect::<Vec<_>>().concat();
        let pages = Pages::serve(&[("/x", &body)]).await;
        let mut policy = MailPolicy::default();
        policy.templates.insert(kind, format!("{}/x", pages.base));
        let site = SitePolicy { site_url: "http://shop.example.com".into(), ..SitePolicy::default() };
        let all = Templates::new(&policy, &site, &Arc::new(HttpClient::new(Outbound::default())));
        let data = serde_json::from_str(r#"{"name":"Ann"}"#).expect("an object");
        let variables = super::template::everything(&data);
        let html = all.render(kind, &variables, DateTime::UNIX_EPOCH).await.expect("a mail").html;
        assert!(!html.contains("=;"), "{kind:?} {html}");
    }
}

#[tokio::test]
async fn texts_from_elsewhere_are_tried_out_before_they_are_needed() {
    let pages = Pages::serve(&[("/good", "{{ .Token }}"), ("/typo", "\n{{ .Tokn }}")]).await;
    let mut policy = MailPolicy::default();
    for (kind, path) in [(MailKind::Invite, "/good"), (MailKind::Recovery, "/typo"), (MailKind::MagicLink, "/missing")]
    {
        policy.templates.insert(kind, format!("{}{path}", pages.base));
    }
    let all = Templates::new(&policy, &SitePolicy::default(), &Arc::new(HttpClient::new(Outbound::default())));
    let now = DateTime::UNIX_EPOCH;
    let told = all.try_out(now).await;
    let [typo, missing] = &told[..] else { panic!("two lines: {told:?}") };
    assert!(typo.starts_with(&format!("{}/typo:2: unknown variable .Tokn; known are ", pages.base)), "{typo}");
    assert!(
        missing.starts_with("the magic_link mail: fetching http://") && missing.contains("status 404"),
        "{missing}"
    );
    all.render(MailKind::Invite, &Variables::default(), now).await.expect("a mail");
    assert_eq!(pages.asked("/good"), 1, "what was fetched is kept");
}

#[tokio::test]
async fn a_file_is_seen_as_it_is_at_each_mail() {
    let file = std::env::temp_dir().join(format!("basalt-template-{}.html", std::process::id()));
    let write = |text: &str| std::fs::write(&file, text).expect("a file");
    write("one");
    let mut policy = MailPolicy::default();
    policy.templates.insert(MailKind::Invite, format!("file://{}", file.display()));
    policy.template_fetch.reloading_enabled = true;
    let all = Templates::new(&policy, &SitePolicy::default(), &Arc::new(HttpClient::new(Outbound::default())));
    let html =
        async || all.render(MailKind::Invite, &Variables::default(), DateTime::UNIX_EPOCH).await.expect("a mail").html;
    assert_eq!(html().await, "one");
    write("two");
    assert_eq!(html().await, "two");
    write("{{ if }}");
    assert_eq!(html().await, "two", "the last good one");
    std::fs::remove_file(&file).expect("removed");
}

#[tokio::test]
async fn after_a_long_rest_a_mail_waits_for_the_text_of_today() {
    let pages = Pages::serve(&[("/c", "one")]).await;
    let mut policy = MailPolicy::default();
    policy.templates.insert(MailKind::Invite, format!("{}/c", pages.base));
    policy.template_fetch.reloading_enabled = true;
    let all = Templates::new(&policy, &SitePolicy::default(), &Arc::new(HttpClient::new(Outbound::default())));
    let html = async |at| all.render(MailKind::Invite, &Variables::default(), at).await.expect("a mail").html;
    assert_eq!(html(DateTime::UNIX_EPOCH).await, "one");
    pages.put("/c", "two");
    assert_eq!(html(DateTime::UNIX_EPOCH + TimeDelta::minutes(20)).await, "two");
}

proptest! {
    #[test]
    fn no_text_makes_the_check_panic(parts in proptest::collection::vec(part(), 0..12)) {
        let text = parts.concat();
        for finding in findings(MailKind::EmailChange, &text) {
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
