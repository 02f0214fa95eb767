//! The guard `Caller`, and `POST /logout`.

use aws_lc_rs::hmac;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use gotrue_rs::testing::{SECRET, TestUser, World};
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

const ANN: &str = "ann@example.com";

async fn log_out(world: &World, user: &TestUser, path: &str) -> (u16, String) {
    let answer = world.post_as(&user.access_token, path, json!({})).await;
    (answer.status.as_u16(), answer.str("error_code").to_owned())
}

/// The statuses of `GET /user` and of a refresh with the tokens of a session.
async fn state(world: &World, owner: &TestUser) -> (u16, u16) {
    let user = world.get_as(&owner.access_token, "/user").await;
    let refreshed = world.refresh(&owner.refresh_token).await;
    (user.status.as_u16(), refreshed.status.as_u16())
}

#[tokio::test]
async fn logout_revokes_the_sessions_of_its_scope() {
    for (path, here, there) in [
        ("/logout", 403, 403),
        ("/logout?scope=global", 403, 403),
        ("/logout?scope=local", 403, 200),
        ("/logout?scope=others", 200, 403),
    ] {
        let world = World::new().await;
        let first = world.create_user(ANN).await;
        let second = world.sign_in(ANN).await;
        let bob = world.create_user("bob@example.com").await;
        let answer = world.post_as(&second.access_token, path, json!({})).await.expect(204);
        assert!(answer.text.is_empty());
        let refresh = |user| if user == 200 { 200 } else { 400 };
        assert_eq!(state(&world, &second).await, (here, refresh(here)), "{path} here");
        assert_eq!(state(&world, &first).await, (there, refresh(there)), "{path} there");
        assert_eq!(state(&world, &bob).await, (200, 200), "{path} ends no other user's");
    }
}

#[tokio::test]
async fn logout_reads_its_scope_from_the_url_only() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let request = http::Request::post("/logout")
        .header("authorization", format!("Bearer {}", user.access_token))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("scope=bogus"))
        .expect("a request");
    world.send(request).await.expect(204);
    assert_eq!(state(&world, &user).await, (403, 400));
}

#[tokio::test]
async fn logout_quotes_an_unknown_scope_as_go_does() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let answer = world.post_as(&user.access_token, "/logout?scope=%07%E2%80%8D", json!({})).await.expect(400);
    assert_eq!(answer.str("msg"), r#"Unsupported logout scope "\a\u200d""#);
}

#[tokio::test]
async fn logout_with_unknown_scope_revokes_nothing() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    assert_eq!(log_out(&world, &user, "/logout?scope=all").await, (400, "validation_failed".to_owned()));
    assert_eq!(state(&world, &user).await, (200, 200));
}

#[tokio::test]
async fn token_that_was_accepted_before_is_checked_again() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let bob = world.create_user("bob@example.com").await;
    let get = async |token: &str| world.get_as(token, "/user").await;
    for _ in 0..3 {
        assert_eq!(get(&ann.access_token).await.expect(200).str("email"), ANN);
        assert_eq!(get(&bob.access_token).await.expect(200).str("email"), "bob@example.com");
    }
    let (signed, signature) = ann.access_token.rsplit_once('.').expect("three parts");
    let (of_bob, _) = bob.access_token.rsplit_once('.').expect("three parts");
    let changed = format!("{signed}.{}{}", if signature.starts_with('A') { 'B' } else { 'A' }, &signature[1..]);
    for forged in [changed, format!("{signed}."), format!("{of_bob}.{signature}"), format!("{}A", ann.access_token)] {
        assert_eq!(get(&forged).await.refusal(), (403, "bad_jwt"), "{forged}");
    }
    world.advance(TimeDelta::hours(2));
    let expired = get(&ann.access_token).await;
    assert_eq!(expired.refusal(), (403, "bad_jwt"));
    assert!(expired.str("msg").ends_with("token is expired"), "{}", expired.text);
}

#[tokio::test]
async fn second_logout_finds_no_session() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    assert_eq!(log_out(&world, &user, "/logout").await.0, 204);
    assert_eq!(log_out(&world, &user, "/logout").await, (403, "session_not_found".to_owned()));
}

#[tokio::test]
async fn logout_without_session_revokes_all_sessions() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let bare = world.sign_claims(&json!({"sub": user.id, "exp": world.now().timestamp() + 60}));
    world.post_as(&bare, "/logout?scope=local", json!({})).await.expect(204);
    assert_eq!(state(&world, &user).await, (403, 400));
}

#[tokio::test]
async fn failed_logout_revokes_nothing() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.faults.fail("sessions.delete", 1);
    let answer = world.post_as(&user.access_token, "/logout", json!({})).await;
    assert_eq!((answer.refusal(), answer.str("msg")), ((500, "unexpected_failure"), "Error logging out user"));
    assert_eq!(state(&world, &user).await, (200, 200));
}

#[tokio::test]
async fn multiple_bearer_tokens_are_refused() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let token = &user.access_token;
    for (header, status) in [
        (format!("Bearer {token}"), 200),
        (format!("bEARER {token}"), 200),
        (token.clone(), 401),
        (format!("Basic {token}"), 401),
        (format!("Bearer{token}"), 401),
        (format!("Bearer {token} {token}"), 401),
        ("Bearer ".to_owned(), 401),
        (String::new(), 401),
    ] {
        let answer = world.request(Method::GET, "/user", &[("authorization", &header)], None).await;
        assert_eq!(answer.status.as_u16(), status, "{header}");
        if status == 401 {
            assert_eq!(answer.str("error_code"), "no_authorization");
        }
    }
}

#[tokio::test]
async fn claims_are_validated_in_order() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let exp = world.now().timestamp() + 60;
    for (claims, refusal) in [
        (json!({"sub": user.id, "exp": world.now().timestamp() - 1}), (403, "bad_jwt")),
        (json!({"exp": exp}), (403, "bad_jwt")),
        (json!({"sub": "ann", "exp": exp}), (400, "bad_jwt")),
        (json!({"sub": Uuid::from_u128(7), "session_id": "x", "exp": exp}), (403, "user_not_found")),
        (json!({"sub": user.id, "session_id": "x", "exp": exp}), (403, "bad_jwt")),
        (json!({"sub": user.id, "session_id": Uuid::from_u128(7), "exp": exp}), (403, "session_not_found")),
    ] {
        let answer = world.get_as(&world.sign_claims(&claims), "/user").await;
        assert_eq!(answer.refusal(), refusal, "{claims}");
    }
}

#[tokio::test]
async fn access_token_expires_at_its_last_second() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(3599));
    world.get_as(&user.access_token, "/user").await.expect(200);
    world.advance(TimeDelta::seconds(1));
    let answer = world.get_as(&user.access_token, "/user").await;
    assert_eq!(answer.refusal(), (403, "bad_jwt"));
    assert!(answer.str("msg").contains("token is expired"), "{}", answer.text);
}

#[tokio::test]
async fn token_of_another_audience_is_refused() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let bearer = format!("Bearer {}", user.access_token);
    let headers = [("authorization", &*bearer), ("x-jwt-aud", "elsewhere")];
    let answer = world.request(Method::GET, "/user", &headers, None).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
}

#[tokio::test]
async fn user_response_contains_no_secrets() {
    let world = World::new().await;
    let imported_user = world.create_user(ANN).await;
    let user = world.get_as(&imported_user.access_token, "/user").await.expect(200);
    assert_eq!((user.str("id"), user.str("email")), (&*imported_user.id, ANN));
    let Value::Object(members) = &user.json else { panic!("{}", user.text) };
    let shown: Vec<&str> = members.keys().map(String::as_str).collect();
    for hidden in ["encrypted_password", "confirmation_token", "recovery_token", "is_sso_user", "instance_id"] {
        assert!(!shown.contains(&hidden), "{hidden}");
    }
}

#[tokio::test]
async fn claims_of_an_administrator_with_a_session_are_validated_in_order() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let exp = world.now().timestamp() + 60;
    for (sub, session, refusal, message) in [
        (None, "x", (403, "bad_jwt"), "missing sub claim"),
        (Some("ann"), "x", (400, "bad_jwt"), "sub claim must be a UUID"),
        (Some("00000000-0000-0000-0000-000000000007"), "x", (403, "user_not_found"), "does not exist"),
        (Some(user.id.as_str()), "x", (403, "bad_jwt"), "session_id claim must be a UUID"),
    ] {
        let claims = json!({"role": "service_role", "sub": sub, "session_id": session, "exp": exp});
        let answer = world.get_as(&world.sign_claims(&claims), "/admin/users").await;
        assert_eq!(answer.refusal(), refusal, "{claims}");
        assert!(answer.str("msg").contains(message), "{}", answer.text);
    }
}

/// A token whose last character differs in bits that encode nothing.
fn respelled(token: &str) -> String {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (rest, last) = token.split_at(token.len() - 1);
    let index = alphabet.find(last).expect("base64url");
    format!("{rest}{}", &alphabet[index + 1..index + 2])
}

#[tokio::test]
async fn signature_with_other_unused_bits_is_accepted() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    for token in [respelled(&user.access_token), user.access_token.clone(), respelled(&user.access_token)] {
        assert_eq!(world.get_as(&token, "/user").await.expect(200).str("email"), ANN);
    }
}

#[tokio::test]
async fn signature_with_other_unused_bits_is_refused_with_hardened_policy() {
    let world = World::builder().as_served().build().await;
    let user = world.create_user(ANN).await;
    assert_eq!(world.get_as(&respelled(&user.access_token), "/user").await.refusal(), (403, "bad_jwt"));
    world.get_as(&user.access_token, "/user").await.expect(200);
}

/// A token of the server's own claims whose header demands extensions.
fn with_critical_header(token: &str, header: &Value) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let claims = token.split('.').nth(1).expect("claims");
    let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header.to_string()));
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes())))
}

#[tokio::test]
async fn token_with_crit_is_refused_with_hardened_policy() {
    for is_served in [true, false] {
        let world = if is_served { World::builder().as_served().build().await } else { World::new().await };
        let user = world.create_user(ANN).await;
        let plain = with_critical_header(&user.access_token, &json!({"alg": "HS256", "typ": "JWT"}));
        world.get_as(&plain, "/user").await.expect(200);
        for crit in [json!(["exp"]), json!([]), Value::Null, json!(["b64"])] {
            let header = json!({"alg": "HS256", "crit": crit, "b64": true});
            let answer = world.get_as(&with_critical_header(&user.access_token, &header), "/user").await;
            assert_eq!(answer.status, if is_served { 403 } else { 200 }, "{crit}: {}", answer.text);
        }
    }
}
