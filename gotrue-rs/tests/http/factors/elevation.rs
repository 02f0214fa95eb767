//! The effect of a verified factor on sessions and tokens.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use serde_json::json;

use super::{ANN, assurance, factors};

#[tokio::test]
async fn verification_revokes_aal1_sessions_and_keeps_aal2_sessions() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let (weak, second) = (world.sign_in(ANN).await, world.sign_in(ANN).await);
    let bob = world.create_user("bob@example.com").await;
    world.elevate_session(&second, &app).await;
    assert_eq!(world.get_as(&weak.access_token, "/user").await.refusal(), (403, "session_not_found"));
    assert_eq!(world.refresh(&weak.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
    for user in [&ann, &bob] {
        world.get_as(&user.access_token, "/user").await.expect(200);
    }
}

#[tokio::test]
async fn version_2_token_issued_before_elevation_is_not_returned_again() {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        policy.refresh.upgrade_percentage = 100;
    })
    .await;
    let before = world.create_user(ANN).await;
    let app = world.enroll_totp(&before, "").await;
    let after = world.elevate_session(&before, &app).await;
    world.advance(TimeDelta::hours(1));
    let refreshed = world.refresh(&after.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal2");
    assert_eq!(world.refresh(&before.refresh_token).await.refusal(), (400, "refresh_token_already_used"));
}

#[tokio::test]
async fn session_with_revoked_tokens_is_not_elevated() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    world.database.query("UPDATE auth.refresh_tokens SET revoked = true RETURNING id::text").await;
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let answer = world.verify_challenge(&ann.access_token, &app.id, response.str("id"), &world.totp_code(&app)).await;
    assert_eq!(answer.refusal(), (403, "session_not_found"));
    assert_eq!(factors(&world, &ann).await, [": unverified"]);
}

#[tokio::test]
async fn token_without_a_session_is_refused_after_the_answer_was_checked() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    let mut claims = world.decode_claims(&ann.access_token);
    claims.as_object_mut().expect("claims").remove("session_id");
    let token = world.sign_claims(&claims);
    let challenge = world.create_challenge(&token, &app.id).await.expect(200);
    let id = challenge.str("id");
    let verify = async |code: &str| world.verify_challenge(&token, &app.id, id, code).await;
    assert_eq!(verify("000000").await.refusal(), (422, "mfa_verification_failed"));
    let refused = verify(&world.totp_code(&app)).await;
    assert_eq!((refused.status.as_u16(), refused.str("msg")), (500, "Cannot read SessionId claim as UUID"));
    assert_eq!(factors(&world, &ann).await, [": unverified"]);
}

#[tokio::test]
async fn session_records_both_factor_types() {
    let world = World::new().await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    let other = world.enroll_totp(&ann, "other").await;
    world.advance(TimeDelta::minutes(1));
    let ann = world.elevate_session(&ann, &other).await;
    assert_eq!(assurance(&world, &ann.access_token).1, ["totp", "otp"]);
    world.unenroll(&ann.access_token, &other.id).await.expect(200);
    let back = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, back.str("access_token")).0, "aal1");
}

#[tokio::test]
async fn user_with_verified_factor_needs_aal2_to_change_password() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let weak = world.sign_in(ANN).await;
    let new = json!({ "password": "another horse" });
    assert_eq!(world.put_as(&weak.access_token, "/user", new.clone()).await.refusal(), (401, "insufficient_aal"));
    let second = json!({ "factor_type": "totp", "friendly_name": "second" });
    assert_eq!(world.enroll(&weak.access_token, second).await.refusal(), (403, "insufficient_aal"));
    world.put_as(&weak.access_token, "/user", json!({ "data": { "colour": "red" } })).await.expect(200);
    let strong = world.elevate_session(&weak, &app).await;
    world.put_as(&strong.access_token, "/user", new).await.expect(200);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn aal1_session_of_user_with_verified_factor_is_short_lived() {
    let world = World::with(|policy| policy.sessions.allow_low_aal = Some(Duration::from_mins(15))).await;
    let (ann, _) = world.create_user_with_totp(ANN).await;
    let weak = world.try_password(ANN, gotrue_rs::testing::PASSWORD).await.expect(200);
    assert_eq!(weak.json["expires_in"], json!(900));
    world.advance(TimeDelta::minutes(16));
    assert_eq!(world.refresh(weak.str("refresh_token")).await.refusal(), (400, "session_expired"));
    world.refresh(&ann.refresh_token).await.expect(200);
}

#[tokio::test]
async fn reused_token_within_the_interval_returns_the_elevated_session() {
    let world = World::with(|policy| policy.refresh.reuse_interval = Duration::from_secs(10)).await;
    let before = world.create_user(ANN).await;
    let app = world.enroll_totp(&before, "").await;
    world.advance(TimeDelta::minutes(5));
    let after = world.elevate_session(&before, &app).await;
    world.advance(TimeDelta::seconds(5));
    let older = world.refresh(&before.refresh_token).await.expect(200);
    assert_eq!(older.str("refresh_token"), after.refresh_token, "the parent of the active token gets the active one");
    let next = world.refresh(&after.refresh_token).await.expect(200);
    let older = world.refresh(&before.refresh_token).await.expect(200);
    world.refresh(older.str("refresh_token")).await.expect(200);
    world.refresh(next.str("refresh_token")).await.expect(200);
}

#[tokio::test]
async fn verification_updates_timestamps_except_last_sign_in() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let app = world.enroll_totp(&ann, "").await;
    world.advance(TimeDelta::minutes(1));
    let response = world.create_challenge(&ann.access_token, &app.id).await.expect(200);
    let stamps = "SELECT floor(extract(epoch FROM updated_at))::bigint FROM auth.";
    let at = |minutes: i64| (world.now().timestamp() - minutes * 60).to_string();
    assert_eq!(world.database.query(&format!("{stamps}mfa_factors")).await, [at(0)], "a challenge touches its factor");
    world.advance(TimeDelta::minutes(1));
    world.verify_challenge(&ann.access_token, &app.id, response.str("id"), &world.totp_code(&app)).await.expect(200);
    for table in ["users", "sessions", "mfa_factors", "refresh_tokens WHERE revoked"] {
        assert_eq!(world.database.query(&format!("{stamps}{table}")).await, [at(0)], "{table}");
    }
    let signed_in = "SELECT floor(extract(epoch FROM last_sign_in_at))::bigint FROM auth.users";
    assert_eq!(world.database.query(signed_in).await, [at(2)], "a second factor is no sign-in");
}
