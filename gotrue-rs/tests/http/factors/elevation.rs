//! What a second factor does to sessions and their tokens.

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::World;
use serde_json::json;

use super::{ANN, assurance, factors};

#[tokio::test]
async fn weaker_sessions_end_and_equals_stay() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let (weak, second) = (world.sign_in(ANN).await, world.sign_in(ANN).await);
    let bob = world.person("bob@example.com").await;
    world.step_up(&second, &app).await;
    assert_eq!(world.get_as(&weak.access_token, "/user").await.refusal(), (403, "session_not_found"));
    assert_eq!(world.refresh(&weak.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
    for person in [&ann, &bob] {
        world.get_as(&person.access_token, "/user").await.expect(200);
    }
}

#[tokio::test]
async fn a_token_of_version_2_from_before_is_none_of_those_that_are_handed_out_again() {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        policy.refresh.upgrade_percentage = 100;
    })
    .await;
    let before = world.person(ANN).await;
    let app = world.app_factor(&before, "").await;
    let after = world.step_up(&before, &app).await;
    world.advance(TimeDelta::hours(1));
    let refreshed = world.refresh(&after.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, refreshed.str("access_token")).0, "aal2");
    assert_eq!(world.refresh(&before.refresh_token).await.refusal(), (400, "refresh_token_already_used"));
}

#[tokio::test]
async fn a_session_whose_tokens_were_revoked_is_not_lifted() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    world.database.query("UPDATE auth.refresh_tokens SET revoked = true RETURNING id::text").await;
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let answer = world.answer(&ann.access_token, &app.id, asked.str("id"), &world.app_code(&app)).await;
    assert_eq!(answer.refusal(), (403, "session_not_found"));
    assert_eq!(factors(&world, &ann).await, [": unverified"]);
}

#[tokio::test]
async fn two_kinds_of_factors_stand_in_one_session() {
    let world = World::new().await;
    let (ann, _) = world.protected(ANN).await;
    let other = world.app_factor(&ann, "other").await;
    world.advance(TimeDelta::minutes(1));
    let ann = world.step_up(&ann, &other).await;
    assert_eq!(assurance(&world, &ann.access_token).1, ["totp", "otp"]);
    world.unenroll(&ann.access_token, &other.id).await.expect(200);
    let back = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(assurance(&world, back.str("access_token")).0, "aal1");
}

#[tokio::test]
async fn a_protected_account_changes_its_password_only_at_aal2() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let weak = world.sign_in(ANN).await;
    let new = json!({ "password": "another horse" });
    assert_eq!(world.put_as(&weak.access_token, "/user", new.clone()).await.refusal(), (401, "insufficient_aal"));
    let second = json!({ "factor_type": "totp", "friendly_name": "second" });
    assert_eq!(world.enroll(&weak.access_token, second).await.refusal(), (403, "insufficient_aal"));
    world.put_as(&weak.access_token, "/user", json!({ "data": { "colour": "red" } })).await.expect(200);
    let strong = world.step_up(&weak, &app).await;
    world.put_as(&strong.access_token, "/user", new).await.expect(200);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn a_low_session_of_a_protected_account_is_short() {
    let world = World::with(|policy| policy.sessions.allow_low_aal = Some(Duration::from_mins(15))).await;
    let (ann, _) = world.protected(ANN).await;
    let weak = world.try_password(ANN, gotrue_rs::testing::PASSWORD).await.expect(200);
    assert_eq!(weak.json["expires_in"], json!(900));
    world.advance(TimeDelta::minutes(16));
    assert_eq!(world.refresh(weak.str("refresh_token")).await.refusal(), (400, "session_expired"));
    world.refresh(&ann.refresh_token).await.expect(200);
}

#[tokio::test]
async fn an_older_tab_gets_the_same_session_within_the_reuse_interval() {
    let world = World::with(|policy| policy.refresh.reuse_interval = Duration::from_secs(10)).await;
    let before = world.person(ANN).await;
    let app = world.app_factor(&before, "").await;
    world.advance(TimeDelta::minutes(5));
    let after = world.step_up(&before, &app).await;
    world.advance(TimeDelta::seconds(5));
    let older = world.refresh(&before.refresh_token).await.expect(200);
    assert_eq!(older.str("refresh_token"), after.refresh_token, "the parent of the active token gets the active one");
    let next = world.refresh(&after.refresh_token).await.expect(200);
    let older = world.refresh(&before.refresh_token).await.expect(200);
    world.refresh(older.str("refresh_token")).await.expect(200);
    world.refresh(next.str("refresh_token")).await.expect(200);
}

#[tokio::test]
async fn a_verification_stamps_what_it_changes_and_no_sign_in() {
    let world = World::new().await;
    let ann = world.person(ANN).await;
    let app = world.app_factor(&ann, "").await;
    world.advance(TimeDelta::minutes(1));
    let asked = world.challenge(&ann.access_token, &app.id).await.expect(200);
    let stamps = "SELECT floor(extract(epoch FROM updated_at))::bigint FROM auth.";
    let at = |minutes: i64| (world.now().timestamp() - minutes * 60).to_string();
    assert_eq!(world.database.query(&format!("{stamps}mfa_factors")).await, [at(0)], "a challenge touches its factor");
    world.advance(TimeDelta::minutes(1));
    world.answer(&ann.access_token, &app.id, asked.str("id"), &world.app_code(&app)).await.expect(200);
    for table in ["users", "sessions", "mfa_factors", "refresh_tokens WHERE revoked"] {
        assert_eq!(world.database.query(&format!("{stamps}{table}")).await, [at(0)], "{table}");
    }
    let signed_in = "SELECT floor(extract(epoch FROM last_sign_in_at))::bigint FROM auth.users";
    assert_eq!(world.database.query(signed_in).await, [at(2)], "a second factor is no sign-in");
}
