//! The first owner: the link is valid once, within 24 hours, while there is no owner.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::desk_client::{EMAIL, PASSWORD, Shop, SignedIn, send};
use crate::shared_limits::Redis;
use crate::support::{Basalt, basalt, free_port};

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
    shop.admin(Method::POST, "/users", json!({"email": "taken@shop.example"})).await;
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
    let uses: Vec<_> = (0..6)
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
            // The others lose, or find a machine that is too busy to answer them.
            (409, "setup_in_progress") | (401, "setup_link_invalid") | (503, "unavailable") => {}
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

/// The browser is closed before the codes are made, and then before they are kept.
#[tokio::test]
async fn owner_who_has_kept_no_recovery_codes_makes_new_ones_after_the_next_sign_in() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let codes = async |owner: &SignedIn| {
        let answer = shop.get("/account/recovery-codes", Some(&owner.cookie)).await;
        let is_done = shop.get("/checklist", Some(&owner.cookie)).await.body["items"][0]["done"].clone();
        (answer.body["left"].clone(), answer.body["are_unconfirmed"].clone(), is_done)
    };
    let create = async |owner: &SignedIn| {
        let made = shop.change(Method::POST, "/account/recovery-codes", owner, json!({})).await;
        assert_eq!(made.status, 200, "{}", made.body);
        made
    };
    let keep = async |owner: &SignedIn, made_at: &str| {
        shop.change(Method::POST, "/account/recovery-codes/kept", owner, json!({"made_at": made_at})).await
    };
    assert_eq!(codes(&owner).await, (json!(0), json!(false), json!(false)));
    let unseen = create(&owner).await;
    assert_eq!(codes(&owner).await, (json!(10), json!(true), json!(false)));

    let session = shop.sign_in(&owner.secret, 0).await;
    assert_eq!(session.status, 200, "{}", session.body);
    let owner = SignedIn { cookie: session.cookie(), csrf_token: session.text("csrf_token"), ..owner };
    assert_eq!(codes(&owner).await, (json!(10), json!(true), json!(false)));
    let made = create(&owner).await;
    let refused = keep(&owner, &unseen.text("made_at")).await;
    assert_eq!((refused.status, refused.code()), (409, "codes_replaced"), "{}", refused.body);
    assert_eq!(keep(&owner, "today").await.status, 400);
    let kept = keep(&owner, &made.text("made_at")).await;
    assert_eq!(kept.status, 204, "{}", kept.body);
    assert_eq!(codes(&owner).await, (json!(10), json!(false), json!(true)));

    let first = shop.send_password(EMAIL, PASSWORD).await;
    let recover = async |code: &serde_json::Value| {
        shop.post("/sign-in/recovery", json!({"ticket": first.text("ticket"), "code": code})).await
    };
    assert_eq!(recover(&unseen.body["codes"][0]).await.code(), "invalid_code", "a code that new ones have replaced");
    assert_eq!(recover(&made.body["codes"][0]).await.status, 200);
}

#[tokio::test]
async fn setup_tells_the_whole_rule_of_a_password() {
    let rule = "[auth]\nminimum_password_length = 10\npassword_requirements = \"lower_upper_letters_digits\"\n";
    let shop = Shop::start_with(rule);
    let missing = shop.get("/session", None).await;
    assert_eq!((missing.status, &missing.body["password_min_length"]), (401, &json!(10)));
    let kinds = json!([{"kind": "small_letter"}, {"kind": "capital_letter"}, {"kind": "digit"}]);
    assert_eq!(missing.body["password_kinds"], kinds);
    assert_eq!(missing.body["password_is_looked_up"], json!(false));
}

#[tokio::test]
async fn codes_of_earlier_versions_count_as_kept() {
    let shop = Shop::start();
    let owner = shop.set_up().await;
    let insert = "INSERT INTO basalt.desk_recovery_codes (user_id, code_hash, created_at)
        SELECT id, '\\x01', now() FROM auth.users";
    assert_eq!(shop.execute(insert).await, 1);
    let codes = shop.get("/account/recovery-codes", Some(&owner.cookie)).await;
    assert_eq!(codes.body, json!({"left": 1, "are_unconfirmed": false}));
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_search_for_an_owner_is_made_once_and_ends() {
    let shop = std::sync::Arc::new(Shop::start());
    let other = std::sync::Arc::clone(&shop);
    // The search waits for the table, for longer than other statements may take.
    let (mut database, mut observer) = (shop.database().await, shop.database().await);
    sqlx::raw_sql("BEGIN; LOCK TABLE auth.users").execute(&mut database).await.expect("locked");
    let searching = tokio::spawn(async move { other.get("/session", None).await });
    wait_for_lock(&mut observer, 1).await;
    let meanwhile = shop.get("/session", None).await;
    assert_eq!((meanwhile.status, &meanwhile.body["setup"]), (401, &json!(false)), "the last known answer");
    let other = std::sync::Arc::clone(&shop);
    let making = tokio::spawn(async move {
        other.post("/setup", json!({"token": other.setup_token(), "email": EMAIL, "password": PASSWORD})).await
    });
    wait_for_lock(&mut observer, 2).await;
    sqlx::raw_sql("SELECT pg_sleep(4); COMMIT").execute(&mut database).await.expect("unlocked");
    let found = searching.await.expect("an answer");
    assert_eq!((found.status, found.code()), (401, "desk_session_missing"), "{}", found.body);
    let made = making.await.expect("an answer");
    assert_eq!(made.status, 200, "{}", made.body);
}

/// Waits until this number of statements on links wait for a table.
async fn wait_for_lock(observer: &mut sqlx::PgConnection, expected: i64) {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%desk_setup_links%'";
    for _ in 0..500 {
        let found: i64 = sqlx::query_scalar(waiting).fetch_one(&mut *observer).await.expect("a number");
        if found == expected {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("not {expected} statements wait");
}

#[tokio::test]
async fn attempts_that_cannot_be_counted_are_no_excess() {
    let redis = Redis::start(free_port(), &[]);
    let store = format!("[basalt.limits]\nurl = \"{}\"\non_failure = \"closed\"", redis.url());
    let shop = Shop::start_with(&store);
    drop(redis);
    let body = json!({"token": "A".repeat(43), "email": EMAIL, "password": PASSWORD});
    let answer = shop.post("/setup", body).await;
    assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{}", answer.body);
    assert!(answer.headers.contains_key("retry-after") && answer.body["hint"].is_string(), "{}", answer.body);
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
    assert!(
        text.starts_with(&server.url("/_desk/#setup=").replace("127.0.0.1", "localhost")) && text != first,
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_start_without_an_owner_prints_a_link_that_works() {
    let folder = crate::support::TempFolder::new();
    let config = folder.write("config.toml", "[basalt.shop]\nowner = \"owner@shop.example\"\n");
    let (data, port) = (folder.path("data"), free_port().to_string());
    let start = || Basalt::serve(&["--config", &config, "--data", &data, "--port", &port]);
    let stop = |server: Basalt| {
        server.signal(Signal::TERM);
        assert!(tokio::task::block_in_place(|| server.wait_for_exit()));
    };
    let first = start();
    let earlier = first.text("desk_setup_url");
    stop(first);
    let second = start();
    let link = second.text("desk_setup_url");
    assert_ne!(link, earlier);
    let set_up = async |server: &Basalt, link: &str| {
        let token = link.split_once("#setup=").expect("a link").1;
        let origin = server.text("url");
        let request = server.client.post(server.url("/_desk/api/setup")).header("origin", origin);
        send(request.json(&json!({"token": token, "email": EMAIL, "password": PASSWORD}))).await
    };
    let ended = set_up(&second, &earlier).await;
    assert_eq!((ended.status, ended.code()), (401, "setup_link_invalid"));
    assert_eq!(set_up(&second, &link).await.status, 200);
    stop(second);
    let third = start();
    assert!(third.announcement.get("desk_setup_url").is_none(), "there is an owner");
}

#[test]
fn start_says_why_it_prints_the_link() {
    let folder = crate::support::TempFolder::new();
    let config = folder.write("config.toml", "[basalt.shop]\nowner = \"owner@shop.example\"\n");
    let data = folder.path("data");
    for _ in 0..2 {
        let mut command = basalt();
        let command = command.args(["serve", "--port", "0", "--config", &config, "--data", &data]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let lines: Vec<String> =
            lines.map_while(Result::ok).take_while(|line| !line.contains("/_desk/#setup=")).collect();
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it lives");
        assert!(child.wait().expect("a status").success());
        let reason = lines.last().expect("a line");
        assert!(
            reason.contains("The shop has no owner yet. This link makes one, once and within 24 hours"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn link_ends_if_the_owner_was_made_in_another_way() {
    let folder = crate::support::TempFolder::new();
    let config = folder.write("config.toml", "[basalt.shop]\nowner = \"owner@shop.example\"\n");
    let shop = Shop::start();
    let owner = json!({"email": EMAIL, "password": PASSWORD, "app_metadata": {"role": "owner"}});
    shop.admin(Method::POST, "/users", owner).await;
    let used = "SELECT (used_at IS NOT NULL)::text FROM basalt.desk_setup_links";
    assert_eq!(shop.query(used).await, "false");
    let url = shop.server.text("database_url");
    let place = ["desk", "--config", &config, "--data", &folder.path("data"), "--database-url", &url];
    let printed = basalt().args(place).arg("link").output().expect("it starts");
    let text = String::from_utf8_lossy(&printed.stderr);
    assert!(!printed.status.success() && text.contains("the shop has an owner"), "{text}");
    assert_eq!(shop.query(used).await, "true", "no later request has to look for owners");
    shop.execute("UPDATE basalt.desk_setup_links SET used_at = NULL").await;
    assert_eq!(shop.get("/session", None).await.body["setup"], false);
    assert_eq!(shop.query(used).await, "true", "no later request has to look for owners");
}
