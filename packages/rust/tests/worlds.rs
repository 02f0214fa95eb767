//! Worlds of a real server: the binary of `BASALT_BIN`, or the one that the workspace has built.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use basalt_test::{Basalt, Error, World};
use futures::FutureExt;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// Starts a server of the binary beside the test program's folder.
#[expect(clippy::disallowed_methods, reason = "the binary under test can be chosen")]
async fn start() -> Basalt {
    let built = || -> Option<PathBuf> { Some(std::env::current_exe().ok()?.parent()?.parent()?.join("basalt")) };
    let binary = std::env::var("BASALT_BIN").ok().or_else(|| built().map(|path| path.display().to_string()));
    Basalt::start_binary(&binary.expect("a path")).await.expect("a server")
}

/// Sends a request to the auth API of a world; returns status and JSON.
async fn auth(world: &World, path: &str, token: Option<&str>, body: Option<Value>) -> (StatusCode, Value) {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{}/auth/v1{path}", world.url());
    let request = match body {
        Some(body) => client.post(url).json(&body),
        None => client.get(url),
    };
    let request = request.header("apikey", world.publishable_key());
    let request = request.bearer_auth(token.unwrap_or(world.publishable_key()));
    let response = request.send().await.expect("a response");
    (response.status(), response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn mailed_code_signs_in_and_token_expires() -> Result<(), Error> {
    let basalt = start().await;
    let world = basalt.world(json!({})).await?;
    auth(&world, "/otp", None, Some(json!({"email": "ann@example.com"}))).await;
    let message = world.wait_for_message("ann@example.com", None, Duration::from_secs(5)).await?;
    let body = json!({"type": "email", "email": "ann@example.com", "token": message["code"]});
    let (status, session) = auth(&world, "/verify", None, Some(body)).await;
    assert_eq!(status, 200, "{session}");
    let token = session["access_token"].as_str();
    assert_eq!(auth(&world, "/user", token, None).await.0, 200);
    world.advance_clock("61m").await?;
    assert_eq!(auth(&world, "/user", token, None).await.0, 403);
    let none = world.wait_for_message("bob@example.com", None, Duration::ZERO).await;
    assert!(matches!(none, Err(Error::NoMessage { .. })));
    world.delete().await
}

#[tokio::test]
async fn each_message_is_returned_once_and_a_missing_one_names_what_came() -> Result<(), Error> {
    let basalt = start().await;
    let world = basalt.world(json!({"config": {"auth": {"email": {"max_frequency": "1s"}}}})).await?;
    world.create_user(json!({"email": "ann@example.com"})).await?;
    let mut ids = Vec::new();
    for _ in 0..2 {
        world.advance_clock("2m").await?;
        auth(&world, "/otp", None, Some(json!({"email": "ann@example.com"}))).await;
        ids.push(world.next_message("ann@example.com").await?["id"].clone());
    }
    assert_ne!(ids[0], ids[1]);
    let started = Instant::now();
    let missing = world.next_message("ann@example.com").await.expect_err("both were returned");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(missing.to_string().contains("magic_link to ann@example.com"), "{missing}");
    world.delete().await
}

#[tokio::test]
async fn failed_test_is_reported_and_its_world_is_deleted() -> Result<(), Error> {
    let basalt = start().await;
    let sum = basalt.run(json!({}), async |world| {
        auth(&world, "/otp", None, Some(json!({"email": "ann@example.com"}))).await;
        world.next_message("ann@example.com").await?;
        let report = world.report().await;
        assert!(report.starts_with(&format!("world {}", world.id())), "{report}");
        assert!(report.contains("request {") && report.contains("to ann@example.com ("), "{report}");
        Ok::<_, Error>(1 + 1)
    });
    assert_eq!(sum.await?, 2);
    let failed = basalt.run(json!({}), async |world| world.change_config(json!({"auth": {"x": 1}})).await).await;
    assert!(matches!(failed, Err(Error::Refused { .. })), "{failed:?}");
    let panicking = basalt.run(json!({}), async |_| -> Result<(), Error> { panic!("the assertion of a test") });
    assert!(AssertUnwindSafe(panicking).catch_unwind().await.is_err(), "the panic ends the test");
    assert_eq!(basalt.worlds().await?.len(), 1, "only the world of the server itself is left");
    Ok(())
}

#[tokio::test]
async fn unknown_kinds_and_failures_are_refused_with_the_nearest() -> Result<(), Error> {
    let basalt = start().await;
    let world = basalt.world(json!({})).await?;
    let fault = world.add_fault(json!({"target": "smtp", "do": {"failure": "bounced"}})).await.expect_err("unknown");
    assert!(fault.to_string().contains("did you mean bounce?"), "{fault}");
    for (path, nearest) in
        [("/messages?kind=recovry", "did you mean recovery?"), ("/events?kind=requests", "did you mean request?")]
    {
        let refused = world.call(Method::GET, path, None).await.expect_err("unknown");
        assert!(refused.to_string().contains(nearest), "{path}: {refused}");
    }
    world.delete().await
}

#[tokio::test]
async fn state_is_forked_stored_and_reset() -> Result<(), Error> {
    let basalt = start().await;
    let world = basalt.world(json!({"name": "first"})).await?;
    let user = world.create_user(json!({"email": "ann@example.com", "factors": [{}]})).await?;
    world.store_snapshot("with ann").await?;
    let fork = world.fork().await?;
    world.reset().await?;
    let missing = world.create_session(&user, json!({})).await.expect_err("no such user");
    assert!(matches!(&missing, Error::Refused { status, .. } if *status == StatusCode::NOT_FOUND), "{missing}");
    for copy in [&fork, &basalt.world(json!({"from": "with ann"})).await?] {
        let created = copy.create_session(&user, json!({"aal": "aal2"})).await?;
        let token = created["session"]["access_token"].as_str();
        assert_eq!(auth(copy, "/user", token, None).await.0, 200);
    }
    world.restore_snapshot("with ann").await?;
    let secret = user["factors"][0]["secret"].as_str().unwrap_or_default();
    assert_eq!(world.totp(secret).await?.len(), 6);
    assert_eq!(basalt.worlds().await?.len(), 4);
    Ok(())
}

#[tokio::test]
async fn recovery_codes_of_a_new_user_are_returned() -> Result<(), Error> {
    let basalt = start().await;
    let world = basalt.world(json!({})).await?;
    let factors = json!([{}, {"type": "recovery_code", "codes": ["ABCD-efgh-2345"]}]);
    let user = world.create_user(json!({"email": "ann@example.com", "factors": factors})).await?;
    let codes = user["factors"].as_array().into_iter().flatten().find_map(|factor| factor.get("codes"));
    assert_eq!(codes, Some(&json!(["abcdefgh2345"])));
    world.delete().await
}

#[tokio::test]
async fn faults_and_settings_apply_to_one_world() -> Result<(), Error> {
    let basalt = start().await;
    let (world, other) = (basalt.world(json!({})).await?, basalt.world(json!({})).await?);
    world.add_fault(json!({"match": {"path": "/auth/v1/settings"}, "do": {"status": 503}})).await?;
    assert_eq!(auth(&world, "/settings", None, None).await.0, 503);
    assert_eq!(auth(&other, "/settings", None, None).await.0, 200);
    world.clear_faults().await?;
    world.change_config(json!({"auth": {"enable_signup": false}})).await?;
    assert_eq!(auth(&world, "/settings", None, None).await.1["disable_signup"], true);
    assert_eq!(auth(&other, "/settings", None, None).await.1["disable_signup"], false);
    let refused = world.change_config(json!({"auth": {"enable_sinup": false}})).await.expect_err("unknown");
    assert!(refused.to_string().contains("did you mean auth.enable_signup"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn missing_binary_says_what_to_do() {
    let refused = Basalt::start_binary("/nowhere/basalt").await.expect_err("no binary");
    assert!(refused.to_string().contains("BASALT_BIN"), "{refused}");
    let refused = Basalt::start_binary("/bin/false").await.expect_err("no server");
    assert!(matches!(refused, Error::Start { .. }), "{refused}");
    assert!(refused.to_string().contains("it printed nothing"), "{refused}");
    let refused = Basalt::start_binary("/bin/sh").await.expect_err("no server");
    assert!(refused.to_string().contains("serve"), "the log of the program is shown: {refused}");
}
