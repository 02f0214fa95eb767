//! The first owner: the link is valid once, within 24 hours, while there is no owner.

use serde_json::json;

use super::desk_client::{EMAIL, PASSWORD, Shop};
use crate::support::basalt;

#[tokio::test]
async fn link_makes_the_owner_once() {
    let shop = Shop::start();
    let before = shop.get("/session", None).await;
    assert_eq!((before.status, before.code()), (401, "desk_session_missing"));
    assert_eq!(before.body["setup"], true);

    let owner = shop.set_up().await;
    let session = shop.get("/session", Some(&owner.cookie)).await;
    assert_eq!((session.status, session.body["user"]["email"].as_str()), (200, Some(EMAIL)), "{}", session.body);
    assert_eq!(session.body["factors"][0]["type"], "totp");
    assert_eq!(session.body["shop_name"], "Email Templates");
    let role = shop.query("SELECT raw_app_meta_data ->> 'role' || ' ' || role FROM auth.users").await;
    assert_eq!(role, "owner authenticated", "the claim `role` is not changed");

    let body = json!({"token": shop.setup_token(), "email": "second@shop.example", "password": PASSWORD});
    let again = shop.post("/setup", body).await;
    assert_eq!((again.status, again.code()), (401, "setup_link_invalid"));
    assert_eq!(shop.get("/session", None).await.body["setup"], false);
    assert_eq!(shop.query("SELECT count(*)::text FROM auth.users").await, "1");
    let stored = shop.query("SELECT encode(token_hash, 'escape') FROM basalt.desk_setup_links").await;
    assert!(!stored.contains(&shop.setup_token()));
}

#[tokio::test]
async fn refused_input_leaves_the_link_valid() {
    let shop = Shop::start_with("[auth]\nminimum_password_length = 12");
    shop.admin(reqwest::Method::POST, "/users", json!({"email": "taken@shop.example"})).await;
    let refused = [
        ("owner@shop.example", "short", 400, "weak_password"),
        ("no address", PASSWORD, 400, "invalid_request"),
        ("taken@shop.example", PASSWORD, 409, "email_exists"),
        ("", PASSWORD, 400, "invalid_request"),
    ];
    for (email, password, status, code) in refused {
        let body = json!({"token": shop.setup_token(), "email": email, "password": password});
        let answer = shop.post("/setup", body).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{email} {password}: {}", answer.body);
    }
    shop.set_up().await;
}

#[tokio::test]
async fn unknown_and_expired_links_are_refused() {
    let shop = Shop::start();
    let body = |token: &str| json!({"token": token, "email": EMAIL, "password": PASSWORD});
    for token in ["x", &"A".repeat(43), &shop.setup_token()[1..]] {
        let answer = shop.post("/setup", body(token)).await;
        assert_eq!((answer.status, answer.code()), (401, "setup_link_invalid"), "{token}");
    }
    shop.execute("UPDATE basalt.desk_setup_links SET expires_at = now() - interval '1 second'").await;
    let answer = shop.post("/setup", body(&shop.setup_token())).await;
    assert_eq!((answer.status, answer.code()), (401, "setup_link_invalid"));
    assert_eq!(shop.query("SELECT count(*)::text FROM auth.users").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_concurrent_uses_wins() {
    let shop = std::sync::Arc::new(Shop::start());
    let uses: Vec<_> = (0..12)
        .map(|number| {
            let shop = std::sync::Arc::clone(&shop);
            let email = format!("owner{number}@shop.example");
            tokio::spawn(async move {
                let body = json!({"token": shop.setup_token(), "email": email, "password": PASSWORD});
                shop.post("/setup", body).await
            })
        })
        .collect();
    let mut won = 0;
    for answer in uses {
        let answer = answer.await.expect("an answer");
        match (answer.status, answer.code()) {
            (200, _) => won += 1,
            (409, "setup_in_progress") | (401, "setup_link_invalid") => {}
            other => panic!("{other:?}: {}", answer.body),
        }
    }
    assert_eq!(won, 1);
    let owners = "SELECT count(*)::text FROM auth.users WHERE raw_app_meta_data ->> 'role' = 'owner'";
    assert_eq!(shop.query(owners).await, "1");
}

#[tokio::test]
async fn owner_without_code_enrolls_at_the_next_sign_in() {
    let shop = Shop::start();
    let body = json!({"token": shop.setup_token(), "email": EMAIL, "password": PASSWORD});
    let made = shop.post("/setup", body).await;
    assert_eq!(made.status, 200, "{}", made.body);
    assert!(made.body["totp"]["qr_svg"].as_str().is_some_and(|svg| svg.contains("<svg")), "{}", made.body);
    for _ in 0..2 {
        let first = shop.send_password(EMAIL, PASSWORD).await;
        assert_eq!((first.status, first.body["next"].as_str()), (200, Some("enroll")), "{}", first.body);
        assert_ne!(first.body["totp"]["secret"], made.body["totp"]["secret"]);
    }
}

#[tokio::test]
async fn attempts_at_links_are_limited() {
    let shop = Shop::start();
    let body = json!({"token": "A".repeat(43), "email": EMAIL, "password": PASSWORD});
    let mut limited = None;
    for _ in 0..60 {
        let answer = shop.post("/setup", body.clone()).await;
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
    }
    let limited = limited.expect("the network made too many attempts");
    assert!(limited.code() == "too_many_requests" && limited.headers.contains_key("retry-after"));
}

#[test]
fn command_prints_another_link_while_there_is_no_owner() {
    let folder = crate::support::TempFolder::new();
    let config = folder.write("config.toml", "[basalt.shop]\nowner = \"owner@shop.example\"\n");
    let data = folder.path("data");
    let server = crate::support::Basalt::serve(&["--config", &config, "--data", &data]);
    let first = server.text("desk_setup_url");
    let link = || basalt().args(["desk", "--config", &config, "--data", &data, "link"]).output().expect("it starts");
    let printed = link();
    let text = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    assert!(text.starts_with(&server.url("/_desk/#setup=")) && text != first, "{text}");
}
