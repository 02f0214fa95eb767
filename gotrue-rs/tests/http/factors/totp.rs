use chrono::TimeDelta;
use gotrue_rs::testing::World;
use gotrue_rules::domain::mfa::totp;
use serde_json::json;

use super::{ANN, assurance, factors};

#[tokio::test]
async fn a_right_code_lifts_the_session_and_gives_it_new_tokens() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "my phone").await;
    assert_eq!(assurance(&world, &ann.access_token), ("aal1".to_owned(), vec!["otp".to_owned()]));
    world.advance(TimeDelta::seconds(1));

    let lifted = world.try_app(&ann, &app).await.expect(200);

    let token = lifted.str("access_token");
    assert_eq!(assurance(&world, token), ("aal2".to_owned(), vec!["totp".to_owned(), "otp".to_owned()]));
    assert_eq!(world.claims(token)["session_id"], json!(ann.session));
    assert_eq!(lifted.json["user"]["factors"][0]["status"], "verified");
    let refreshed = world.refresh(lifted.str("refresh_token")).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal2");
}

#[tokio::test]
async fn a_wrong_code_leaves_the_challenge_usable() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let long_past = totp::code(&app.secret, world.now() - TimeDelta::days(9)).unwrap();
    for wrong in [long_past.as_str(), "12345", "abcdef"] {
        let answer = world.answer(&ann.access_token, &app.id, asked.str("id"), wrong).await;
        assert_eq!(answer.refusal(), (422, "mfa_verification_failed"), "{wrong}");
    }
    world.answer(&ann.access_token, &app.id, asked.str("id"), &world.app_code(&app)).await.expect(200);
}

#[tokio::test]
async fn a_challenge_serves_once_and_a_code_for_as_long_as_it_is_shown() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let first = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let second = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let code = world.app_code(&app);
    let ann = world.answer(&ann.access_token, &app.id, first.str("id"), &code).await.expect(200);
    let token = ann.str("access_token");
    let again = world.answer(token, &app.id, first.str("id"), &code).await;
    assert_eq!(again.refusal(), (422, "mfa_ip_address_mismatch"));
    world.answer(token, &app.id, second.str("id"), &code).await.expect(200);
}

#[tokio::test]
async fn a_challenge_that_is_too_old_is_deleted() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    assert_eq!(asked.json["expires_at"], json!(world.now().timestamp() + 300));
    world.advance(TimeDelta::seconds(301));
    let code = world.app_code(&app);
    for code_of in ["mfa_challenge_expired", "mfa_factor_not_found"] {
        let answer = world.answer(&ann.access_token, &app.id, asked.str("id"), &code).await;
        assert_eq!(answer.refusal(), (422, code_of));
    }
}

#[tokio::test]
async fn a_challenge_belongs_to_the_address_that_asked_for_it() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let bearer = format!("Bearer {}", ann.access_token);
    let path = format!("/factors/{}/verify", app.id);
    let body = json!({ "challenge_id": asked.str("id"), "code": world.app_code(&app) });
    let headers = [("authorization", bearer.as_str())];
    let elsewhere = world.post_from([203, 0, 113, 9].into(), &path, &headers, body.clone()).await;
    assert_eq!(elsewhere.refusal(), (422, "mfa_ip_address_mismatch"));
    world.post_as(&ann.access_token, &path, body).await.expect(200);
}

#[tokio::test]
async fn bodies_that_do_not_fit_are_refused_one_by_one() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let (path, id) = (format!("/factors/{}/verify", app.id), asked.str("id"));
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
async fn a_challenge_of_one_factor_is_none_of_another() {
    let world = World::new().await;
    let (ann, _) = world.protected(ANN).await;
    let (one, two) = (world.app_factor(&ann, "one").await, world.app_factor(&ann, "two").await);
    let asked = world.challenge(&ann.access_token, &one.id).await.expect(200);
    let answer = world.answer(&ann.access_token, &two.id, asked.str("id"), &world.app_code(&two)).await;
    assert_eq!(answer.refusal(), (422, "mfa_factor_not_found"));
}

#[tokio::test]
async fn challenges_asked_for_at_one_moment_are_all_made() {
    let world = World::new().await;
    let (ann, bob) = (world.person(ANN).await, world.person("bob@example.com").await);
    let (anns, bobs) = (world.app_factor(&ann, "").await, world.app_factor(&bob, "").await);
    world.challenge(&ann.access_token, &anns.id).await.expect(200);
    world.challenge(&bob.access_token, &bobs.id).await.expect(200);
    world.challenge(&ann.access_token, &anns.id).await.expect(200);
}

#[tokio::test]
async fn a_verification_takes_away_unfinished_factors_of_its_kind() {
    let world = World::with(|policy| policy.mfa.phone.enroll_enabled = true).await;
    let ann = world.person(ANN).await;
    world.app_factor(&ann, "never finished").await;
    let app = world.app_factor(&ann, "kept").await;
    let phone = json!({ "factor_type": "phone", "phone": "15550100", "friendly_name": "phone" });
    world.enroll(&ann.access_token, phone).await.expect(200);
    let ann = world.step_up(&ann, &app).await;
    assert_eq!(factors(&world, &ann).await, ["phone: unverified", "kept: verified"]);
}

#[tokio::test]
async fn kinds_that_are_off_are_refused() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    for (kind, code) in [("phone", "mfa_phone_enroll_not_enabled"), ("webauthn", "mfa_webauthn_enroll_not_enabled")] {
        let body = json!({ "factor_type": kind, "phone": "15550100" });
        assert_eq!(world.enroll(&ann.access_token, body).await.refusal(), (422, code));
    }
    let world = World::with(|policy| policy.mfa.totp_verify_enabled = false).await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    let refused = (422, "mfa_totp_verify_not_enabled");
    assert_eq!(world.challenge(&ann.access_token, &app.id).await.refusal(), refused);
    assert_eq!(world.answer(&ann.access_token, &app.id, &app.id, "123456").await.refusal(), refused);
}
