use chrono::TimeDelta;
use gotrue_rs::testing::World;
use serde_json::json;

use super::{ANN, factors};

#[tokio::test]
async fn totp_enrollment_returns_secret_uri_and_qr_code() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let made = world.enroll(&ann.access_token, json!({ "factor_type": "totp" })).await.expect(200);
    let secret = made.str("totp/secret");
    assert!(secret.len() == 32 && secret.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')), "{secret}");
    let uri = format!(
        "otpauth://totp/shop.example.com:{ANN}?algorithm=SHA1&digits=6&issuer=shop.example.com&period=30&secret={secret}"
    );
    assert_eq!(made.str("totp/uri"), uri);
    assert!(made.str("totp/qr_code").contains("<svg"));
    assert_eq!((made.str("type"), made.json["friendly_name"].as_str()), ("totp", Some("")));
    assert!(made.json.get("phone").is_none());
}

#[tokio::test]
async fn totp_secret_is_returned_once() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "app").await;
    let verified = world.verify_totp(&ann, &app).await.expect(200);
    let shown = world.get_as(verified.str("access_token"), "/user").await.expect(200);
    let listed = world.get_as(&world.service_token(), &format!("/admin/users/{}/factors", ann.id)).await.expect(200);
    for answer in [verified, shown, listed] {
        assert!(!answer.text.contains(&app.secret), "{}", answer.text);
    }
}

#[tokio::test]
async fn issuer_too_long_for_a_qr_code_is_refused() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let body = json!({ "factor_type": "totp", "issuer": "x".repeat(2000) });
    assert_eq!(world.enroll(&ann.access_token, body).await.refusal(), (400, "validation_failed"));
    assert_eq!(factors(&world, &ann).await, [""; 0]);
}

#[tokio::test]
async fn friendly_names_are_unique_per_user_including_the_empty_name() {
    let world = World::new().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    world.enroll_totp(&ann, "home").await;
    let body = |name: &str| json!({ "factor_type": "totp", "friendly_name": name });
    assert_eq!(world.enroll(&ann.access_token, body("home")).await.refusal(), (422, "mfa_factor_name_conflict"));
    world.enroll_totp(&ann, "Home").await;
    world.enroll_totp(&bob, "home").await;
    world.enroll_totp(&ann, "").await;
    assert_eq!(world.enroll(&ann.access_token, body("")).await.refusal(), (422, "mfa_factor_name_conflict"));
}

#[tokio::test]
async fn concurrent_enrollment_of_one_name_is_refused_as_duplicate() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let body = || json!({ "factor_type": "totp", "friendly_name": "home" });
    let enrollments = (0..4).map(|_| world.enroll(&ann.access_token, body()));
    let mut answers: Vec<_> =
        futures::future::join_all(enrollments).await.iter().map(|answer| answer.status.as_u16()).collect();
    answers.sort_unstable();
    assert_eq!(answers, [200, 422, 422, 422]);
}

#[tokio::test]
async fn enrolled_and_verified_factors_are_limited() {
    let world = World::with(|policy| policy.mfa.max_enrolled_factors = 2).await;
    let ann = world.create_user(ANN).await;
    for name in ["one", "two"] {
        world.enroll_totp(&ann, name).await;
    }
    let three = json!({ "factor_type": "totp", "friendly_name": "three" });
    let answer = world.enroll(&ann.access_token, three.clone()).await;
    assert_eq!(answer.refusal(), (422, "too_many_enrolled_mfa_factors"));

    let world = World::with(|policy| policy.mfa.max_verified_factors = 1).await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    assert_eq!(world.enroll(&ann.access_token, three).await.refusal(), (422, "too_many_enrolled_mfa_factors"));
}

#[tokio::test]
async fn enrollment_deletes_old_unverified_factors_without_challenges() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    world.enroll_totp(&ann, "stale").await;
    let challenged = world.enroll_totp(&ann, "challenged").await;
    world.create_challenge(&ann.access_token, &challenged.id).await.expect(200);
    world.advance(TimeDelta::minutes(6));
    world.enroll_totp(&ann, "stale").await;
    assert_eq!(factors(&world, &ann).await, ["challenged: unverified", "stale: unverified"]);
}

#[tokio::test]
async fn token_without_session_cannot_enroll() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let claims = json!({ "sub": ann.id, "aud": "authenticated", "role": "authenticated",
                         "exp": world.now().timestamp() + 60 });
    let answer = world.enroll(&world.sign_claims(&claims), json!({ "factor_type": "totp" })).await;
    assert_eq!(answer.refusal(), (500, "unexpected_failure"));
}

#[tokio::test]
async fn anonymous_user_cannot_enroll() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let guest = world.post("/signup", json!({})).await.expect(200);
    let answer = world.enroll(guest.str("access_token"), json!({ "factor_type": "totp" })).await;
    assert_eq!(answer.refusal(), (403, "no_authorization"));
}
