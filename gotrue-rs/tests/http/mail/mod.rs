//! Mail sent by API requests: recipients and failures.

mod recipients;
mod slow;

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::MailKind;
use serde_json::json;

use crate::ports::pages::Pages;

/// Ten templates, each of which calls the one before ten times: 700 bytes that expand to gigabytes.
fn expanding_text() -> String {
    let call = |level: usize| format!("{{{{ template \"t{level}\" }}}}").repeat(10);
    let first = "{{ define \"t0\" }}xxxxxxxxxx{{ end }}".to_owned();
    let define = |text, level| format!("{text}{{{{ define \"t{}\" }}}}{}{{{{ end }}}}", level + 1, call(level));
    (0..10).fold(first, define) + &call(10)
}

#[tokio::test]
async fn hardened_policy_uses_no_remote_text_with_a_mistake() {
    let pages = Pages::serve(&[("/typo", "<p>{{ .Confirmation }}</p>")]).await;
    let place = format!("{}/typo", pages.base);
    let builder = World::builder().as_served().policy(|policy| {
        policy.mail.templates.insert(MailKind::Confirmation, place);
    });
    let world = builder.build().await;
    world.post("/signup", json!({ "email": "ann@example.com", "password": "correct horse" })).await.expect(200);
    let html = world.mailbox.latest("ann@example.com").html;
    assert!(html.contains("/verify?"), "the built-in text is used: {html}");
}

#[tokio::test]
async fn expanding_text_delays_no_request_and_the_built_in_one_is_used() {
    let pages = Pages::serve(&[("/expanding", &expanding_text())]).await;
    for world in [World::builder(), World::builder().as_served()] {
        let place = format!("{}/expanding", pages.base);
        let world =
            world.policy(|policy| drop(policy.mail.templates.insert(MailKind::Confirmation, place))).build().await;
        let started = Instant::now();
        let sign_up = world.post("/signup", json!({ "email": "ann@example.com", "password": "correct horse" }));
        let (signed_up, health) = tokio::join!(sign_up, world.get("/health"));
        signed_up.expect(200);
        health.expect(200);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        let html = world.mailbox.latest("ann@example.com").html;
        assert!(html.contains("/verify?"), "the built-in text is used: {html}");
    }
}

/// As GoTrue, which refuses such texts when it parses them.
#[tokio::test]
async fn remote_text_that_go_does_not_parse_replaces_no_good_one() {
    let pages = Pages::serve(&[("/text", "<p>mine {{ .ConfirmationURL }}</p>")]).await;
    let place = format!("{}/text", pages.base);
    let world = World::builder().policy(|policy| drop(policy.mail.templates.insert(MailKind::Confirmation, place)));
    let world = world.build().await;
    let expect_own_text = async |email: &str| {
        world.post("/signup", json!({ "email": email, "password": "correct horse" })).await.expect(200);
        assert!(world.mailbox.latest(email).html.contains("<p>mine "), "{email}");
    };
    expect_own_text("first@example.com").await;
    for (at, text) in
        ["{{ upper .Email }} {{ .ConfirmationURL }}", "{{ $missing }}", "{{ $missing = 1 }}"].iter().enumerate()
    {
        pages.put("/text", text);
        world.advance(TimeDelta::minutes(11));
        expect_own_text(&format!("user{at}@example.com")).await;
    }
    pages.remove("/text");
    world.advance(TimeDelta::minutes(11));
    expect_own_text("last@example.com").await;
}

#[tokio::test]
async fn hardened_mails_have_a_plain_text_part() {
    let world = World::builder().as_served().build().await;
    world.post("/signup", json!({ "email": "ann@example.com", "password": "correct horse" })).await.expect(200);
    let mail = world.mailbox.latest("ann@example.com");
    let text = mail.text.expect("a text");
    assert!(text.contains("ann@example.com") && text.contains(&mail.link.expect("a link")), "{text}");
    assert!(!text.contains('<') && !text.contains("color"), "{text}");
    let recorded = World::new().await;
    recorded.post("/otp", json!({ "email": "ann@example.com" })).await.expect(200);
    assert_eq!(recorded.mailbox.latest("ann@example.com").text, None);
}
