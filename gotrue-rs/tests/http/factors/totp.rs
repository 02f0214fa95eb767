use chrono::TimeDelta;
use gotrue_rs::testing::World;
use gotrue_rules::domain::mfa::totp;
use serde_json::json;

use super::{ANN, assurance, factors};

#[tokio::test]
async fn valid_code_elevates_the_session_and_issues_new_tokens() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "my phone").await;
    assert_eq!(assurance(&world, &ann.access_token), ("aal1".to_owned(), vec!["otp".to_owned()]));
    world.advance(TimeDelta::seconds(1));

    let lifted = world.verify_totp(&ann, &app).await.expect(200);

    let token = lifted.str("access_token");
    assert_eq!(assurance(&world, token), ("aal2".to_owned(), vec!["totp".to_owned(), "otp".to_owned()]));
    assert_eq!(world.decode_claims(token)["session_id"], json!(ann.session));
    assert_eq!(lifted.json["user"]["factors"][0]["status"], "verified");
    let refreshed = world.refresh(lifted.str("refresh_token")).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal2");
}

#[tokio::test]
async fn wrong_code_leaves_the_challenge_usable() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let long_past = totp::generate_code(&app.secret, world.now() - TimeDelta::days(9)).unwrap();
    for wrong in [long_past.as_str(), "12345", "abcdef"] {
        let answer = world.verify_challenge(&ann.access_token, &app.id, response.str("id"), wrong).await;
        assert_eq!(answer.refusal(), (422, "mfa_verification_failed"), "{wrong}");
    }
    world.verify_challenge(&ann.access_token, &app.id, response.str("id"), &world.totp_code(&app)).await.expect(200);
}

#[tokio::test]
async fn challenge_is_used_once_and_code_is_valid_for_its_period() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let first = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let second = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let code = world.totp_code(&app);
    let ann = world.verify_challenge(&ann.access_token, &app.id, first.str("id"), &code).await.expect(200);
    let token = ann.str("access_token");
    let again = world.verify_challenge(token, &app.id, first.str("id"), &code).await;
    assert_eq!(again.refusal(), (422, "mfa_ip_address_mismatch"));
    world.verify_challenge(token, &app.id, second.str("id"), &code).await.expect(200);
}

#[tokio::test]
async fn expired_challenge_is_deleted() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(response.json["expires_at"], json!(world.now().timestamp() + 300));
    world.advance(TimeDelta::seconds(301));
    let code = world.totp_code(&app);
    for code_of in ["mfa_challenge_expired", "mfa_factor_not_found"] {
        let answer = world.verify_challenge(&ann.access_token, &app.id, response.str("id"), &code).await;
        assert_eq!(answer.refusal(), (422, code_of));
    }
}

#[tokio::test]
async fn challenge_is_bound_to_the_client_ip() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let bearer = format!("Bearer {}", ann.access_token);
    let path = format!("/factors/{}/verify", app.id);
    let body = json!({ "challenge_id": response.str("id"), "code": world.totp_code(&app) });
    let headers = [("authorization", bearer.as_str())];
    let elsewhere = world.post_from([203, 0, 113, 9].into(), &path, &headers, body.clone()).await;
    assert_eq!(elsewhere.refusal(), (422, "mfa_ip_address_mismatch"));
    world.post_as(&ann.access_token, &path, body).await.expect(200);
}

#[tokio::test]
async fn malformed_bodies_are_refused() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let (path, id) = (format!("/factors/{}/verify", app.id), response.str("id"));
    for (body, refusal) in [
        (json!({ "challenge_id": id }), (400, "validation_failed")),
        (json!({ "code": "123456" }), (422, "mfa_factor_not_found")),
        (json!({ "challenge_id": "nonsense", "code": "123456" }), (400, "bad_json")),
        (json!({ "challenge_id": id, "code": 123_456 }), (400, "bad_json")),
        (json!({ "challenge_id": app.id, "code": "123456" }), (422, "mfa_factor_not_found")),
    ] {
        assert_eq!(world.post_as(&ann.access_token, &path, body.clone()).await.refusal(), refusal, "{body}");
    }
}

#[tokio::test]
async fn challenge_is_bound_to_its_factor() {
    let world = World::new().await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    let (one, two) = (world.enroll_totp(&ann, "one").await, world.enroll_totp(&ann, "two").await);
    let response = world.create_challenge(&ann.access_token, &one.id).await.expect(200);
    let answer = world.verify_challenge(&ann.access_token, &two.id, response.str("id"), &world.totp_code(&two)).await;
    assert_eq!(answer.refusal(), (422, "mfa_factor_not_found"));
}

#[tokio::test]
async fn concurrent_challenges_are_all_created() {
    let world = World::new().await;
    let (ann, bob) = (world.create_user(ANN).await, world.create_user("bob@example.com").await);
    let (anns, bobs) = (world.enroll_totp(&ann, "").await, world.enroll_totp(&bob, "").await);
    world.create_challenge(&ann.access_token, &anns.id).await.expect(200);
    world.create_challenge(&bob.access_token, &bobs.id).await.expect(200);
    world.create_challenge(&ann.access_token, &anns.id).await.expect(200);
}

#[tokio::test]
async fn verification_deletes_unverified_factors_of_the_same_type() {
    let world = World::with(|policy| policy.mfa.phone.enroll_enabled = true).await;
    let ann = world.create_user(ANN).await;
    world.enroll_totp(&ann, "never finished").await;
    let app = world.enroll_totp(&ann, "kept").await;
    let phone = json!({ "factor_type": "phone", "phone": "15550100", "friendly_name": "phone" });
    world.enroll(&ann.access_token, phone).await.expect(200);
    let ann = world.elevate_session(&ann, &app).await;
    assert_eq!(factors(&world, &ann).await, ["phone: unverified", "kept: verified"]);
}

#[tokio::test]
async fn disabled_factor_types_are_refused() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    for (kind, code) in [("phone", "mfa_phone_enroll_not_enabled"), ("webauthn", "mfa_webauthn_enroll_not_enabled")] {
        let body = json!({ "factor_type": kind, "phone": "15550100" });
        assert_eq!(world.enroll(&ann.access_token, body).await.refusal(), (422, code));
    }
    let world = World::with(|policy| policy.mfa.totp_verify_enabled = false).await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let refused = (422, "mfa_totp_verify_not_enabled");
    assert_eq!(world.create_challenge(&ann.access_token, &app.id).await.refusal(), refused);
    assert_eq!(world.verify_challenge(&ann.access_token, &app.id, &app.id, "123456").await.refusal(), refused);
}

/// `challengeAndVerify` of auth-js soon after a sign-in with the same code.
#[tokio::test]
async fn used_code_is_refused_with_a_text_that_says_so() {
    let world = World::with(|policy| policy.mfa.is_totp_replay_rejected = true).await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let code = world.totp_code(&app);
    let ann = world.elevate_session(&ann, &app).await;
    world.advance(TimeDelta::seconds(1));
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let used = world.verify_challenge(&ann.access_token, &app.id, response.str("id"), &code).await;
    assert_eq!(used.refusal(), (422, "mfa_verification_failed"));
    assert_eq!(used.str("msg"), "This TOTP code was used already, please wait for the next one");
    let wrong = world.verify_challenge(&ann.access_token, &app.id, response.str("id"), "000000").await;
    assert_eq!(wrong.str("msg"), "Invalid TOTP code entered");
    world.advance(TimeDelta::seconds(30));
    let next = world.totp_code(&app);
    world.verify_challenge(&ann.access_token, &app.id, response.str("id"), &next).await.expect(200);
}
