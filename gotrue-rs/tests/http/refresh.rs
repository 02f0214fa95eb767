//! `POST /token?grant_type=refresh_token`: rows (version 1) and signed tokens (version 2).

use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::testing::{Answer, Person, World};
use serde_json::json;

const ANN: &str = "ann@example.com";
const USED: (u16, &str) = (400, "refresh_token_already_used");

fn token(answer: &Answer) -> String {
    answer.str("refresh_token").to_owned()
}

async fn signed(change: impl FnOnce(&mut gotrue_rules::domain::policy::Policy)) -> (World, Person) {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        change(policy);
    })
    .await;
    let person = world.person(ANN).await;
    (world, person)
}

#[tokio::test]
async fn a_refresh_exchanges_the_token_and_keeps_the_session() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.advance(TimeDelta::minutes(30));
    let answer = world.refresh(&person.refresh_token).await.expect(200);
    assert_ne!(token(&answer), person.refresh_token);
    assert_eq!(answer.header("sb-auth-session-id"), person.session);
    assert_eq!(answer.header("sb-auth-refresh-token-reuse"), "false");
    assert_eq!(answer.str("user/email"), ANN);
    assert_eq!(answer.json.get("expires_at"), Some(&json!(world.now().timestamp() + 3600)));
    world.get_as(answer.str("access_token"), "/user").await.expect(200);
}

#[tokio::test]
async fn a_refresh_does_not_count_as_a_sign_in() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let before = world.get_as(&person.access_token, "/user").await.str("last_sign_in_at").to_owned();
    world.advance(TimeDelta::minutes(30));
    let answer = world.refresh(&person.refresh_token).await.expect(200);
    assert_eq!(answer.str("user/last_sign_in_at"), before);
}

#[tokio::test]
async fn the_parent_of_the_current_token_gets_it_again_at_any_time() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let child = token(&world.refresh(&person.refresh_token).await.expect(200));
    world.advance(TimeDelta::days(30));
    let again = world.refresh(&person.refresh_token).await.expect(200);
    assert_eq!(token(&again), child);
    assert_eq!(again.header("sb-auth-refresh-token-reuse"), "");
    world.refresh(&child).await.expect(200);
}

#[tokio::test]
async fn an_older_token_ends_the_whole_family() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    let child = token(&world.refresh(&person.refresh_token).await);
    let grandchild = token(&world.refresh(&child).await.expect(200));
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.refresh(&person.refresh_token).await.refusal(), USED);
    world.advance(TimeDelta::microseconds(1));
    assert_eq!(world.refresh(&grandchild).await.refusal(), USED);
    world.get_as(&person.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn without_rotation_an_older_token_is_refused_and_ends_nothing() {
    let world = World::with(|policy| policy.refresh.rotation_enabled = false).await;
    let person = world.person(ANN).await;
    let child = token(&world.refresh(&person.refresh_token).await);
    let grandchild = token(&world.refresh(&child).await.expect(200));
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.refresh(&person.refresh_token).await.refusal(), USED);
    world.refresh(&grandchild).await.expect(200);
}

#[tokio::test]
async fn within_the_interval_an_older_token_is_exchanged_again() {
    let world = World::with(|policy| policy.refresh.reuse_interval = Duration::from_secs(10)).await;
    let person = world.person(ANN).await;
    let child = token(&world.refresh(&person.refresh_token).await);
    world.refresh(&child).await.expect(200);
    world.advance(TimeDelta::seconds(10));
    let branch = world.refresh(&person.refresh_token).await.expect(200);
    assert_ne!(token(&branch), child);
    world.advance(TimeDelta::seconds(11));
    assert_eq!(world.refresh(&child).await.refusal(), USED);
}

#[tokio::test]
async fn a_session_ends_with_its_time_box() {
    let world = World::with(|policy| policy.sessions.timebox = Some(Duration::from_hours(24))).await;
    let person = world.person(ANN).await;
    world.advance(TimeDelta::hours(24));
    let child = token(&world.refresh(&person.refresh_token).await.expect(200));
    world.advance(TimeDelta::microseconds(1));
    let answer = world.refresh(&child).await;
    assert_eq!(answer.refusal(), (400, "session_expired"));
    assert_eq!(answer.str("msg"), "Invalid Refresh Token: Session Expired");
}

#[tokio::test]
async fn a_session_ends_when_it_rests_for_too_long() {
    let world = World::with(|policy| policy.sessions.inactivity_timeout = Some(Duration::from_hours(1))).await;
    let mut person = world.person(ANN).await;
    for _ in 0..3 {
        world.advance(TimeDelta::hours(1));
        person.refresh_token = token(&world.refresh(&person.refresh_token).await.expect(200));
    }
    world.advance(TimeDelta::hours(1) + TimeDelta::microseconds(1));
    let answer = world.refresh(&person.refresh_token).await;
    assert_eq!(answer.refusal(), (400, "session_expired"));
    assert_eq!(answer.str("msg"), "Invalid Refresh Token: Session Expired (Inactivity)");
}

#[tokio::test]
async fn where_one_session_is_allowed_the_newest_goes_on() {
    for version in [1, 2] {
        let world = World::with(|policy| {
            policy.sessions.single_per_user = true;
            policy.refresh.algorithm_version = version;
        })
        .await;
        let first = world.person(ANN).await;
        world.advance(TimeDelta::seconds(1));
        let second = world.sign_in(ANN).await;
        let answer = world.refresh(&first.refresh_token).await;
        assert_eq!(answer.refusal(), (400, "session_expired"));
        assert_eq!(answer.str("msg"), "Invalid Refresh Token: Session Expired (Revoked by Newer Login)");
        world.refresh(&second.refresh_token).await.expect(200);
    }
}

#[tokio::test]
async fn a_banned_account_refreshes_nothing() {
    for version in [1, 2] {
        let world = World::with(|policy| policy.refresh.algorithm_version = version).await;
        let person = world.person(ANN).await;
        let until = world.now() + TimeDelta::hours(1);
        world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
        assert_eq!(world.refresh(&person.refresh_token).await.refusal(), (400, "user_banned"));
        world.advance(TimeDelta::hours(1));
        world.refresh(&person.refresh_token).await.expect(200);
    }
}

#[tokio::test]
async fn a_token_without_a_session_is_deleted() {
    let world = World::new().await;
    let person = world.person(ANN).await;
    world.database.query("UPDATE auth.refresh_tokens SET session_id = NULL").await;
    assert_eq!(world.refresh(&person.refresh_token).await.refusal(), (400, "session_not_found"));
    assert_eq!(world.refresh(&person.refresh_token).await.refusal(), (400, "refresh_token_not_found"));
}

#[tokio::test]
async fn what_is_no_token_is_not_looked_up() {
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
async fn a_refresh_that_fails_leaves_the_token_good() {
    let world = World::with(|policy| policy.sessions.single_per_user = true).await;
    let person = world.person(ANN).await;
    // A rollback takes a moment: who comes meanwhile finds the token locked, and waits.
    world.clock.run();
    let statements =
        ["refresh_tokens.facts", "refresh_tokens.lock", "refresh_tokens.facts_locked", "sessions.refresh", "COMMIT"];
    for statement in statements {
        world.faults.fail(statement, 1);
        assert_eq!(world.refresh(&person.refresh_token).await.status, 500, "{statement}");
    }
    world.refresh(&person.refresh_token).await.expect(200);
}

#[tokio::test]
async fn a_signed_token_counts_up() {
    let (world, person) = signed(|_| {}).await;
    let first = world.refresh(&person.refresh_token).await.expect(200);
    assert_eq!(first.header("sb-auth-refresh-token-counter"), "1");
    assert_eq!(first.header("sb-auth-refresh-token-reuse"), "false");
    let second = world.refresh(&token(&first)).await.expect(200);
    assert_eq!(second.header("sb-auth-refresh-token-counter"), "2");
    assert!(world.database.query("SELECT id FROM auth.refresh_tokens").await.is_empty());
}

#[tokio::test]
async fn the_last_but_one_signed_token_gets_the_current_one_at_any_time() {
    let (world, person) = signed(|_| {}).await;
    let current = token(&world.refresh(&person.refresh_token).await.expect(200));
    world.advance(TimeDelta::days(30));
    let again = world.refresh(&person.refresh_token).await.expect(200);
    assert_eq!(token(&again), current);
    assert_eq!(again.header("sb-auth-refresh-token-reuse-cause"), "fail-to-save");
    assert_eq!(again.header("sb-auth-refresh-token-reuse"), "");
}

#[tokio::test]
async fn an_older_signed_token_ends_the_session() {
    let (world, person) = signed(|_| {}).await;
    let first = token(&world.refresh(&person.refresh_token).await);
    let second = token(&world.refresh(&first).await.expect(200));
    world.advance(TimeDelta::seconds(1));
    let answer = world.refresh(&person.refresh_token).await;
    assert_eq!(answer.refusal(), USED);
    assert_eq!(answer.header("sb-auth-refresh-token-rotated"), "true");
    assert_eq!(world.refresh(&second).await.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(world.get_as(&person.access_token, "/user").await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn within_the_interval_or_by_permission_an_older_signed_token_gets_the_current_one() {
    for (interval, allowed, cause) in [(10, false, "concurrent-refresh"), (0, true, "always-allow")] {
        let (world, person) = signed(|policy| {
            policy.refresh.reuse_interval = Duration::from_secs(interval);
            policy.refresh.allow_reuse = allowed;
        })
        .await;
        let first = token(&world.refresh(&person.refresh_token).await);
        let second = token(&world.refresh(&first).await.expect(200));
        world.advance(TimeDelta::seconds(9));
        let answer = world.refresh(&person.refresh_token).await.expect(200);
        assert_eq!(token(&answer), second);
        assert_eq!(answer.header("sb-auth-refresh-token-reuse-cause"), cause);
    }
}

#[tokio::test]
async fn a_session_of_rows_goes_over_to_signed_tokens_when_told_to() {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        policy.refresh.upgrade_percentage = 100;
    })
    .await;
    let person = world.person(ANN).await;
    // The session as the first version made it.
    let old = "abcdefgh2345";
    world.database.query("UPDATE auth.sessions SET refresh_token_hmac_key = NULL, refresh_token_counter = NULL").await;
    let insert = format!(
        "INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
         VALUES ('{:032x}', '{old}', '{}', false, now(), now(), '{}')",
        0, person.id, person.session
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
async fn a_token_keeps_its_version_whatever_is_configured_later() {
    let (world, person) = signed(|policy| policy.refresh.upgrade_percentage = 0).await;
    let insert = format!(
        "INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
         VALUES ('{:032x}', 'abcdefgh2345', '{}', false, now(), now(), '{}')",
        0, person.id, person.session
    );
    world.database.query(&insert).await;
    let row = world.refresh("abcdefgh2345").await.expect(200);
    assert_eq!(token(&row).len(), 12);
    world.refresh(&person.refresh_token).await.expect(200);
}
