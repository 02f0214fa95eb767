//! Mail templates: rendering like Go, built-in content like GoTrue, and escaping of user data.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use foundation::language::Language;
use gotrue_rs::ports::mail::template::{MailTemplates, RenderedMail, TemplateVariables, builtin_subject};
use gotrue_rules::domain::policy::{MailKind, MailPolicy, SitePolicy};
use platform::http_client::{HttpClient, OutboundOptions};
use platform::mail::plain::to_plain_text;
use serde_json::{Map, Value, json};

use crate::ports::pages::Pages;

const LINK: &str = "https://api.example.com/verify?token=ab&type=signup&redirect_to=https://app.example.com/";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a date")
}

fn templates(policy: &MailPolicy, site_url: &str) -> MailTemplates {
    let site = SitePolicy { site_url: site_url.to_owned(), ..SitePolicy::default() };
    MailTemplates::new(policy, &site, &Arc::new(HttpClient::new(OutboundOptions::default())))
}

fn data(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).expect("an object")
}

/// One body and subject of the operator's, for one kind.
fn policy(kind: MailKind, subject: Option<&str>, place: Option<String>) -> MailPolicy {
    let mut policy = MailPolicy::default();
    policy.subjects.extend(subject.map(|subject| (kind, subject.to_owned())));
    policy.templates.extend(place.map(|place| (kind, place)));
    policy
}

async fn render(subject: &str, body: &str, variables: &TemplateVariables<'_>) -> RenderedMail {
    let pages = Pages::serve(&[("/page.html", body)]).await;
    let policy = policy(MailKind::Recovery, Some(subject), Some(format!("{}/page.html", pages.base)));
    let all = templates(&policy, "http://shop.example.com/home?a=1&b=2");
    all.render(MailKind::Recovery, variables, now()).await.expect("a mail")
}

#[tokio::test]
async fn configured_body_escapes_every_variable_by_context() {
    let body = "<a href=\"{{ .ConfirmationURL }}\">go</a>\n<p>{{ .Email }}|{{ .Token }}|{{ .TokenHash }}|{{ .SiteURL }}|{{ .RedirectTo }}|\
                {{ .Data.name }}|{{ .NewEmail }}</p>\n<a href=\"{{ .SiteURL }}/auth?token_hash={{ .TokenHash }}&type=email&next=\
                {{ .RedirectTo }}\">ours</a>\n{{ .ConfirmationURL }}";
    let user = data(json!({"name": "Ann <b>& Co</b>"}));
    let variables = TemplateVariables {
        email: "ann@example.com",
        data: Some(&user),
        confirmation_url: Some("http://b/verify?token=ab&type=signup&redirect_to=http%3A%2F%2Fs%2Fa%3Fx%3D1"),
        token: Some("123456"),
        token_hash: Some("ab"),
        redirect_to: Some("http://shop.example.com/a?x=1&y=2"),
        ..TemplateVariables::default()
    };
    let mail = render("Grüße, {{ .Email }} – {{ .Token }}", body, &variables).await;
    assert_eq!(mail.subject, "Grüße, ann@example.com – 123456");
    assert_eq!(
        mail.html,
        "<a href=\"http://b/verify?token=ab&amp;type=signup&amp;redirect_to=http%3A%2F%2Fs%2Fa%3Fx%3D1\">go</a>\n\
         <p>ann@example.com|123456|ab|http://shop.example.com/home?a=1&amp;b=2|http://shop.example.com/a?x=1&amp;y=2|\
         Ann &lt;b&gt;&amp; Co&lt;/b&gt;|</p>\n\
         <a href=\"http://shop.example.com/home?a=1&amp;b=2/auth?token_hash=ab&type=email&next=\
         http%3a%2f%2fshop.example.com%2fa%3fx%3d1%26y%3d2\">ours</a>\n\
         http://b/verify?token=ab&amp;type=signup&amp;redirect_to=http%3A%2F%2Fs%2Fa%3Fx%3D1"
    );
}

const LOOPS: &str = "{{- range $key, $value := .Data }}{{ if ne $key \"sub\" }}[{{ $key }}={{ $value }}]{{ end }}{{ end }}{{ with .Data.pets }} \
                     pets:{{ range . }} {{ . }}{{ end }} ({{ len . }}){{ end }} {{ printf \"%.3s\" .Email }} {{ .Token | len }} \
                     <script>var data = {{ .Data.name }};</script><a onclick=\"go('{{ .Data.name }}')\">x</a><a href=\"{{ .Data.link }}\">y</a>";

#[tokio::test]
async fn conditions_and_loops_render_like_go() {
    let user = data(
        json!({"name": "O'Neill \"<x>\"", "pets": ["cat", "dog & bone"], "age": 41, "link": "javascript:alert(1)",
                           "nested": {"a": [1, null]}, "sub": "1"}),
    );
    let variables = TemplateVariables {
        email: "ann@example.com",
        data: Some(&user),
        token: Some("123456"),
        ..TemplateVariables::default()
    };
    let mail = render("{{ if .Data.name }}Hello {{ .Data.name }}{{ else }}Hello{{ end }}", LOOPS, &variables).await;
    assert_eq!(mail.subject, "Hello O&#39;Neill &#34;&lt;x&gt;&#34;");
    assert_eq!(
        mail.html,
        "[age=41][link=javascript:alert(1)][name=O&#39;Neill &#34;&lt;x&gt;&#34;][nested=map[a:[1 &lt;nil&gt;]]][pets=[cat dog &amp; bone]] \
         pets: cat dog &amp; bone (2) ann 6 <script>var data = \"O'Neill \\\"\\u003cx\\u003e\\\"\";</script>\
         <a onclick=\"go('O\\u0027Neill \\u0022\\u003cx\\u003e\\u0022')\">x</a><a href=\"#ZgotmplZ\">y</a>"
    );
    let user = data(json!({"link": "http://example.com/?q=ä b&c=\"d\"", "sub": "1"}));
    let variables = TemplateVariables {
        email: "bob@example.com",
        data: Some(&user),
        token: Some("123456"),
        ..TemplateVariables::default()
    };
    let mail = render("Hello", LOOPS, &variables).await;
    assert_eq!(
        mail.html,
        "[link=http://example.com/?q=ä b&amp;c=&#34;d&#34;] bob 6 <script>var data =  null ;</script><a onclick=\"go('')\">x</a>\
         <a href=\"http://example.com/?q=%c3%a4%20b&amp;c=%22d%22\">y</a>"
    );
}

#[tokio::test]
async fn template_url_is_fetched_at_first_use_and_cached() {
    let pages = Pages::serve(&[("/c.html", "one")]).await;
    let policy = policy(MailKind::Confirmation, Some("Hello"), Some("/c.html".to_owned()));
    let all = templates(&policy, &pages.base);
    assert_eq!(pages.request_count("/c.html"), 0, "nothing is fetched before it is needed");
    let html =
        async |at| all.render(MailKind::Confirmation, &TemplateVariables::default(), at).await.expect("a mail").html;
    assert_eq!(html(now()).await, "one");
    pages.put("/c.html", "two");
    assert_eq!(html(now() + TimeDelta::seconds(599)).await, "one");
    assert_eq!(html(now() + TimeDelta::seconds(600)).await, "two");
    pages.remove("/c.html");
    assert_eq!(html(now() + TimeDelta::seconds(1200)).await, "two", "the last good one");
    assert_eq!(pages.request_count("/c.html"), 3);
    assert_eq!(html(now() + TimeDelta::seconds(1209)).await, "two");
    assert_eq!(pages.request_count("/c.html"), 3, "a failed fetch is not repeated at once");
    pages.put("/c.html", "three");
    assert_eq!(html(now() + TimeDelta::seconds(1210)).await, "three");
}

#[tokio::test]
async fn unusable_template_falls_back_to_the_built_in_one() {
    let pages = Pages::serve(&[
        ("/broken.html", "{{ .Token }} {{ if }}"),
        ("/good.html", "good"),
        ("/open.html", "{{ if .Token }}x"),
    ])
    .await;
    for (subject, path) in
        [("Mine", "/missing.html"), ("Mine", "/broken.html"), ("{{ .Broken", "/good.html"), ("Mine", "/open.html")]
    {
        let policy = policy(MailKind::MagicLink, Some(subject), Some(format!("{}{path}", pages.base)));
        let all = templates(&policy, "http://shop.example.com");
        let variables = TemplateVariables {
            email: "ann@example.com",
            confirmation_url: Some(LINK),
            ..TemplateVariables::default()
        };
        let mail = all.render(MailKind::MagicLink, &variables, now()).await.expect("a mail");
        assert_eq!(mail.subject, "Your sign-in link", "{path}");
        assert!(mail.html.contains("token=ab&amp;type=signup"), "{path}");
    }
    let unreachable = policy(MailKind::MagicLink, None, Some("http://127.0.0.1:9/x".to_owned()));
    let mail = templates(&unreachable, "")
        .render(MailKind::MagicLink, &TemplateVariables::default(), now())
        .await
        .expect("a mail");
    assert_eq!(mail.subject, "Your sign-in link");
}

#[tokio::test]
async fn custom_subject_is_used_with_the_built_in_body() {
    let good = templates(&policy(MailKind::Invite, Some("{{ .Data.team }}: join"), None), "");
    let team = data(json!({"team": "red"}));
    let variables = TemplateVariables { data: Some(&team), ..TemplateVariables::default() };
    let mail = good.render(MailKind::Invite, &variables, now()).await.expect("a mail");
    assert_eq!(mail.subject, "red: join");
    assert!(mail.html.contains("You are invited"));
    let broken = templates(&policy(MailKind::Invite, Some("{{ .Data"), None), "");
    let mail = broken.render(MailKind::Invite, &variables, now()).await.expect("a mail");
    assert_eq!(mail.subject, "You've been invited");
}

#[tokio::test]
async fn long_template_is_truncated_and_files_are_read() {
    let pages = Pages::serve(&[("/long.html", "0123456789")]).await;
    let mut policy = policy(MailKind::Invite, None, Some(format!("{}/long.html", pages.base)));
    policy.template_fetch.max_size = 4;
    let mail =
        templates(&policy, "").render(MailKind::Invite, &TemplateVariables::default(), now()).await.expect("a mail");
    assert_eq!(mail.html, "0123");
    let file = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/src/ports/mail/templates/label-of-a-test.html");
    policy.templates.insert(MailKind::Invite, file.to_owned());
    let mail =
        templates(&policy, "").render(MailKind::Invite, &TemplateVariables::default(), now()).await.expect("a mail");
    assert_eq!(mail.subject, "You've been invited", "a missing file gives the built-in pair");
    policy.template_fetch.max_size = 100_000;
    policy.templates.insert(
        MailKind::Invite,
        concat!("file://", env!("CARGO_MANIFEST_DIR"), "/tests/http/ports/mail/template.rs").to_owned(),
    );
    let mail =
        templates(&policy, "").render(MailKind::Invite, &TemplateVariables::default(), now()).await.expect("a mail");
    assert_eq!(mail.subject, "You've been invited", "a file of Rust is no template: its braces do not match");
}

#[tokio::test]
async fn failing_template_is_an_error() {
    let pages = Pages::serve(&[("/r.html", "{{ index .Data.pets 5 }}")]).await;
    let all = templates(&policy(MailKind::Recovery, None, Some(format!("{}/r.html", pages.base))), "");
    let pets = data(json!({"pets": ["cat"]}));
    let variables = TemplateVariables { data: Some(&pets), ..TemplateVariables::default() };
    let error = all.render(MailKind::Recovery, &variables, now()).await.expect_err("an error").to_string();
    assert!(error.starts_with("the body of the recovery mail cannot be filled in: "), "{error}");
}

#[tokio::test]
async fn background_reload_does_not_delay_mails() {
    let pages = Pages::serve(&[("/c.html", "one")]).await;
    let mut policy = policy(MailKind::Confirmation, None, Some(format!("{}/c.html", pages.base)));
    policy.template_fetch.reloading_enabled = true;
    let all = templates(&policy, "");
    let html =
        async |at| all.render(MailKind::Confirmation, &TemplateVariables::default(), at).await.expect("a mail").html;
    assert_eq!(html(now()).await, "one");
    pages.put("/c.html", "two");
    assert_eq!(html(now() + TimeDelta::seconds(600)).await, "one");
    let fetched = async {
        while html(now() + TimeDelta::seconds(601)).await != "two" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), fetched).await.expect("the next version arrives by itself");
    assert_eq!(pages.request_count("/c.html"), 2);
}

/// What a mail reader finds in a body: its links, and whether a code stands in its text.
fn facts(html: &str) -> (Vec<String>, bool) {
    let ends = |c: char| c.is_whitespace() || "\"'<>)".contains(c);
    let mut links = Vec::new();
    let mut rest = html;
    while let Some(at) = [rest.find("http://"), rest.find("https://")].into_iter().flatten().min() {
        let (link, after) = rest[at..].split_at(rest[at..].find(ends).unwrap_or(rest.len() - at));
        links.push(link.replace("&amp;", "&"));
        rest = after;
    }
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => (inside, text) = (false, text + " "),
            _ if !inside => text.push(c),
            _ => {}
        }
    }
    let runs: Vec<usize> = text.split(|c: char| !c.is_ascii_digit()).map(str::len).collect();
    (links, runs.iter().any(|length| (6..=10).contains(length)))
}

pub(super) fn everything(user: &Map<String, Value>) -> TemplateVariables<'_> {
    TemplateVariables {
        language: Language::English,
        email: "ann@example.com",
        data: Some(user),
        confirmation_url: Some(LINK),
        token: Some("123456"),
        token_hash: Some("ab"),
        redirect_to: Some("https://app.example.com/"),
        new_email: Some("new@example.com"),
        sending_to: Some("new@example.com"),
        old_email: Some("old@example.com"),
        phone: Some("+1"),
        old_phone: Some("+2"),
        provider: Some("github"),
        factor_type: Some("totp"),
    }
}

#[tokio::test]
async fn built_in_bodies_contain_the_link_or_code_like_gotrue() {
    let all = templates(&MailPolicy::default(), "https://shop.example.com/home");
    let user = Map::new();
    for kind in MailKind::ALL {
        let mail = all.render(kind, &everything(&user), now()).await.expect("a mail");
        let (links, code) = facts(&mail.html);
        let has_link = kind < MailKind::Reauthentication;
        assert_eq!(links, if has_link { vec![LINK.to_owned()] } else { vec![] }, "{kind:?}");
        assert_eq!(code, kind == MailKind::Reauthentication, "{kind:?}");
        assert_eq!(mail.subject, builtin_subject(kind).replace("{{ .Token }}", "123456"), "{kind:?}");
        assert!(mail.html.starts_with("<!doctype html>") && mail.html.contains("<html lang=\"en\""), "{kind:?}");
        assert!(mail.html.contains("prefers-color-scheme: dark") && !mail.html.contains("{{"), "{kind:?}");
        assert!(mail.html.contains("role=\"article\"") && mail.html.contains("role=\"presentation\""), "{kind:?}");
        assert!(mail.html.contains("<strong>shop.example.com</strong>"), "{kind:?} says which site it is from");
        insta::assert_snapshot!(format!("builtin-{}", kind.as_str()), to_plain_text(&mail.html));
    }
}

/// The brightness of a colour as WCAG 2 defines it.
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let share = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")) / 255.0;
        if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

#[tokio::test]
async fn text_contrast_is_sufficient_in_light_and_dark_mode() {
    let all = templates(&MailPolicy::default(), "https://shop.example.com");
    let user = Map::new();
    let mut html = String::new();
    for kind in [MailKind::MagicLink, MailKind::Reauthentication] {
        html += &all.render(kind, &everything(&user), now()).await.expect("a mail").html;
    }
    let by_day = [
        ("color:#1a1a1f", "background-color:#ffffff"),
        ("color:#3a3a42", "background-color:#ffffff"),
        ("color:#5c5c66", "background-color:#ffffff"),
        ("color:#ffffff", "background-color:#1d4ed8"),
        ("color:#1a1a1f", "background-color:#eeeef2"),
    ];
    let by_night = [
        ("color: #ededf0", "background-color: #1c1c1f"),
        ("color: #b4b4bd", "background-color: #1c1c1f"),
        ("color:#ffffff", "background-color: #3766f0"),
        ("color: #ffffff", "background-color: #2a2a2f"),
    ];
    for (words, behind) in by_day.into_iter().chain(by_night) {
        assert!(html.contains(words) && html.contains(behind), "{words} {behind}");
        let [a, b] = [words, behind].map(|colour| luminance(&colour[colour.len() - 7..]) + 0.05);
        assert!(a.max(b) / a.min(b) >= 4.5, "{words} on {behind}");
    }
}

#[tokio::test]
async fn user_input_is_escaped_in_every_mail() {
    let hostile = "\"><script>alert(1)</script><img src=x onerror=alert(1)> https://evil.example.org/ \r\nBcc: a@b";
    let all = templates(&MailPolicy::default(), "https://shop.example.com");
    let user = data(json!({"name": hostile}));
    let variables = TemplateVariables {
        email: hostile,
        new_email: Some(hostile),
        sending_to: Some(hostile),
        old_email: Some(hostile),
        phone: Some(hostile),
        old_phone: Some(hostile),
        provider: Some(hostile),
        factor_type: Some(hostile),
        ..everything(&user)
    };
    for kind in MailKind::ALL {
        let mail = all.render(kind, &variables, now()).await.expect("a mail");
        assert!(!mail.html.contains("<script") && !mail.html.contains("<img"), "{kind:?}");
        assert!(mail.html.contains("&lt;script&gt;") || kind == MailKind::Reauthentication, "{kind:?}");
    }
}
