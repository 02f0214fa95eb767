//! `POST /token?grant_type=refresh_token`: rows (version 1) and signed tokens (version 2).

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, World};
use platform::testing::Answer;
use serde_json::json;

const ANN: &str = "ann@example.com";
const USED: (u16, &str) = (400, "refresh_token_already_used");

fn token(answer: &Answer) -> String {
    answer.str("refresh_token").to_owned()
}

async fn signed(change: impl FnOnce(&mut gotrue_rules::domain::policy::Policy)) -> (World, TestUser) {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        change(policy);
    })
    .await;
    let user = world.create_user(ANN).await;
    (world, user)
}

#[tokio::test]
async fn refresh_rotates_the_token_and_keeps_the_session() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.advance(TimeDelta::minutes(30));
    let answer = world.refresh(&user.refresh_token).await.expect(200);
    assert_ne!(token(&answer), user.refresh_token);
    assert_eq!(answer.header("sb-auth-session-id"), user.session);
    assert_eq!(answer.header("sb-auth-refresh-token-reuse"), "false");
    assert_eq!(answer.str("user/email"), ANN);
    assert_eq!(answer.json.get("expires_at"), Some(&json!(world.now().timestamp() + 3600)));
    world.get_as(answer.str("access_token"), "/user").await.expect(200);
}

#[tokio::test]
async fn refresh_does_not_update_last_sign_in() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let before = world.get_as(&user.access_token, "/user").await.str("last_sign_in_at").to_owned();
    world.advance(TimeDelta::minutes(30));
    let answer = world.refresh(&user.refresh_token).await.expect(200);
    assert_eq!(answer.str("user/last_sign_in_at"), before);
}

#[tokio::test]
async fn refresh_with_parent_token_returns_the_active_token() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let child = token(&world.refresh(&user.refresh_token).await.expect(200));
    world.advance(TimeDelta::days(30));
    let again = world.refresh(&user.refresh_token).await.expect(200);
    assert_eq!(token(&again), child);
    assert_eq!(again.header("sb-auth-refresh-token-reuse"), "");
    world.refresh(&child).await.expect(200);
}

#[tokio::test]
async fn refresh_with_reused_token_revokes_family() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let child = token(&world.refresh(&user.refresh_token).await);
    let grandchild = token(&world.refresh(&child).await.expect(200));
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.refresh(&user.refresh_token).await.refusal(), USED);
    world.advance(TimeDelta::microseconds(1));
    assert_eq!(world.refresh(&grandchild).await.refusal(), USED);
    world.get_as(&user.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn refresh_with_reused_token_without_rotation_revokes_nothing() {
    let world = World::with(|policy| policy.refresh.rotation_enabled = false).await;
    let user = world.create_user(ANN).await;
    let child = token(&world.refresh(&user.refresh_token).await);
    let grandchild = token(&world.refresh(&child).await.expect(200));
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.refresh(&user.refresh_token).await.refusal(), USED);
    world.refresh(&grandchild).await.expect(200);
}

#[tokio::test]
async fn refresh_with_reused_token_inside_the_interval_succeeds() {
    let world = World::with(|policy| policy.refresh.reuse_interval = Duration::from_secs(10)).await;
    let user = world.create_user(ANN).await;
    let child = token(&world.refresh(&user.refresh_token).await);
    world.refresh(&child).await.expect(200);
    world.advance(TimeDelta::seconds(10));
    let branch = world.refresh(&user.refresh_token).await.expect(200);
    assert_ne!(token(&branch), child);
    world.advance(TimeDelta::seconds(11));
    assert_eq!(world.refresh(&child).await.refusal(), USED);
}

/// Without the switch, the token that was active at the reuse is accepted for the reuse interval, and the session goes on.
#[tokio::test]
async fn reuse_revokes_the_session_for_good_with_hardened_policy() {
    for (is_served, last_status) in [(false, 200), (true, 400)] {
        let policy =
            |policy: &mut gotrue_rules::domain::policy::Policy| policy.refresh.reuse_interval = Duration::from_secs(10);
        let world = World::builder();
        let world = if is_served { world.as_served() } else { world }.policy(policy).build().await;
        let user = world.create_user(ANN).await;
        let child = token(&world.refresh(&user.refresh_token).await);
        let of_thief = token(&world.refresh(&child).await.expect(200));
        world.advance(TimeDelta::seconds(11));
        assert_eq!(world.refresh(&user.refresh_token).await.refusal(), USED);
        assert_eq!(world.refresh(&of_thief).await.status, last_status, "as served: {is_served}");
    }
}

#[tokio::test]
async fn session_ends_after_its_time_box() {
    let world = World::with(|policy| policy.sessions.timebox = Some(Duration::from_hours(24))).await;
    let user = world.create_user(ANN).await;
    world.advance(TimeDelta::hours(24));
    let child = token(&world.refresh(&user.refresh_token).await.expect(200));
    world.advance(TimeDelta::microseconds(1));
    let answer = world.refresh(&child).await;
    assert_eq!(answer.refusal(), (400, "session_expired"));
    assert_eq!(answer.str("msg"), "Invalid Refresh Token: Session Expired");
}

#[tokio::test]
async fn session_ends_after_its_inactivity_timeout() {
    let world = World::with(|policy| policy.sessions.inactivity_timeout = Some(Duration::from_hours(1))).await;
    let mut user = world.create_user(ANN).await;
    for _ in 0..3 {
        world.advance(TimeDelta::hours(1));
        user.refresh_token = token(&world.refresh(&user.refresh_token).await.expect(200));
    }
    world.advance(TimeDelta::hours(1) + TimeDelta::microseconds(1));
    let answer = world.refresh(&user.refresh_token).await;
    assert_eq!(answer.refusal(), (400, "session_expired"));
    assert_eq!(answer.str("msg"), "Invalid Refresh Token: Session Expired (Inactivity)");
}

#[tokio::test]
async fn single_session_policy_keeps_the_newest_session() {
    for version in [1, 2] {
        let world = World::with(|policy| {
            policy.sessions.single_per_user = true;
            policy.refresh.algorithm_version = version;
        })
        .await;
        let first = world.create_user(ANN).await;
        world.advance(TimeDelta::seconds(1));
        let second = world.sign_in(ANN).await;
        let answer = world.refresh(&first.refresh_token).await;
        assert_eq!(answer.refusal(), (400, "session_expired"));
        assert_eq!(answer.str("msg"), "Invalid Refresh Token: Session Expired (Revoked by Newer Login)");
        world.refresh(&second.refresh_token).await.expect(200);
    }
}

#[tokio::test]
async fn refresh_of_banned_user_is_refused() {
    for version in [1, 2] {
        let world = World::with(|policy| policy.refresh.algorithm_version = version).await;
        let user = world.create_user(ANN).await;
        let until = world.now() + TimeDelta::hours(1);
        world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
        assert_eq!(world.refresh(&user.refresh_token).await.refusal(), (400, "user_banned"));
        world.advance(TimeDelta::hours(1));
        world.refresh(&user.refresh_token).await.expect(200);
    }
}

#[tokio::test]
async fn refresh_token_without_session_is_deleted() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    world.database.query("UPDATE auth.refresh_tokens SET session_id = NULL").await;
    assert_eq!(world.refresh(&user.refresh_token).await.refusal(), (400, "session_not_found"));
    assert_eq!(world.refresh(&user.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
}

#[tokio::test]
async fn malformed_token_sends_no_statement() {
    let world = World::new().await;
    for text in [
        "",
        "short",
        "UPPERCASE123",
        "has space 12",
        "thirteenchars",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        let answer = world.refresh(text).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{text}");
        assert!(world.journal().statements().is_empty(), "{text}");
    }
    assert_eq!(world.refresh("abcdefgh2345").await.refusal(), (400, "refresh_token_not_found"));
}

#[tokio::test]
async fn failed_refresh_keeps_the_token_valid() {
    let world = World::with(|policy| policy.sessions.single_per_user = true).await;
    let user = world.create_user(ANN).await;
    // A rollback takes a moment: who comes meanwhile finds the token locked, and waits.
    world.clock.run();
    let statements =
        ["refresh_tokens.find", "refresh_tokens.lock", "refresh_tokens.find_locked", "sessions.refresh", "COMMIT"];
    for statement in statements {
        world.faults.fail(statement, 1);
        assert_eq!(world.refresh(&user.refresh_token).await.status, 500, "{statement}");
    }
    world.refresh(&user.refresh_token).await.expect(200);
}

#[tokio::test]
async fn refresh_of_signed_token_increments_its_counter() {
    let (world, user) = signed(|_| {}).await;
    let first = world.refresh(&user.refresh_token).await.expect(200);
    assert_eq!(first.header("sb-auth-refresh-token-counter"), "1");
    assert_eq!(first.header("sb-auth-refresh-token-reuse"), "false");
    let second = world.refresh(&token(&first)).await.expect(200);
    assert_eq!(second.header("sb-auth-refresh-token-counter"), "2");
    assert!(world.database.query("SELECT id FROM auth.refresh_tokens").await.is_empty());
}

#[tokio::test]
async fn refresh_with_previous_signed_token_returns_the_active_token() {
    let (world, user) = signed(|_| {}).await;
    let current = token(&world.refresh(&user.refresh_token).await.expect(200));
    world.advance(TimeDelta::days(30));
    let again = world.refresh(&user.refresh_token).await.expect(200);
    assert_eq!(token(&again), current);
    assert_eq!(again.header("sb-auth-refresh-token-reuse-cause"), "fail-to-save");
    assert_eq!(again.header("sb-auth-refresh-token-reuse"), "");
}

#[tokio::test]
async fn refresh_with_reused_signed_token_revokes_the_session() {
    let (world, user) = signed(|_| {}).await;
    let first = token(&world.refresh(&user.refresh_token).await);
    let second = token(&world.refresh(&first).await.expect(200));
    world.advance(TimeDelta::seconds(1));
    let answer = world.refresh(&user.refresh_token).await;
    assert_eq!(answer.refusal(), USED);
    assert_eq!(answer.header("sb-auth-refresh-token-rotated"), "true");
    assert_eq!(world.refresh(&second).await.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(world.get_as(&user.access_token, "/user").await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn reused_signed_token_inside_the_interval_returns_the_active_token() {
    for (interval, allowed, cause) in [(10, false, "concurrent-refresh"), (0, true, "always-allow")] {
        let (world, user) = signed(|policy| {
            policy.refresh.reuse_interval = Duration::from_secs(interval);
            policy.refresh.allow_reuse = allowed;
        })
        .await;
        let first = token(&world.refresh(&user.refresh_token).await);
        let second = token(&world.refresh(&first).await.expect(200));
        world.advance(TimeDelta::seconds(9));
        let answer = world.refresh(&user.refresh_token).await.expect(200);
        assert_eq!(token(&answer), second);
        assert_eq!(answer.header("sb-auth-refresh-token-reuse-cause"), cause);
    }
}

#[tokio::test]
async fn session_with_token_rows_upgrades_to_signed_tokens() {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        policy.refresh.upgrade_percentage = 100;
    })
    .await;
    let user = world.create_user(ANN).await;
    // The session as the first version made it.
    let old = "abcdefgh2345";
    world.database.query("UPDATE auth.sessions SET refresh_token_hmac_key = NULL, refresh_token_counter = NULL").await;
    let insert = format!(
        "INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
         VALUES ('{:032x}', '{old}', '{}', false, now(), now(), '{}')",
        0, user.id, user.session
    );
    world.database.query(&insert).await;
    let upgraded = world.refresh(old).await.expect(200);
    assert_eq!(upgraded.header("sb-auth-refresh-token-counter"), "0");
    assert!(token(&upgraded).len() > 50, "{}", token(&upgraded));
    assert!(world.database.query("SELECT id FROM auth.refresh_tokens WHERE NOT revoked").await.is_empty());
    let next = world.refresh(&token(&upgraded)).await.expect(200);
    assert_eq!(next.header("sb-auth-refresh-token-counter"), "1");
}

#[tokio::test]
async fn token_keeps_its_version_after_reconfiguration() {
    let (world, user) = signed(|policy| policy.refresh.upgrade_percentage = 0).await;
    let insert = format!(
        "INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
         VALUES ('{:032x}', 'abcdefgh2345', '{}', false, now(), now(), '{}')",
        0, user.id, user.session
    );
    world.database.query(&insert).await;
    let row = world.refresh("abcdefgh2345").await.expect(200);
    assert_eq!(token(&row).len(), 12);
    world.refresh(&user.refresh_token).await.expect(200);
}
