//! Old rows go in the background.

use std::future::ready;
use std::time::Duration;

use chrono::TimeDelta;
use gotrue_rs::services::cleanup;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use serde_json::json;
use sqlx::{Connection, PgConnection};

const ANN: &str = "ann@example.com";
/// How many kinds are swept in [`cleaning`] worlds.
const KINDS: usize = 11;
/// More sweeps than there are kinds, whatever the policy.
const ROUND: usize = 16;

async fn cleaning(change: impl FnOnce(&mut Policy)) -> World {
    World::with(|policy| {
        policy.operation.cleanup_enabled = true;
        policy.sign_up.anonymous_enabled = true;
        change(policy);
    })
    .await
}

/// Lets it do what is due after so many writes.
async fn after_writes(world: &World, writes: usize) {
    for _ in 0..writes {
        world.app.cleanup_signal.notify();
        cleanup::run(world.app.clone(), ready(())).await;
    }
}

async fn count(world: &World, table: &str) -> usize {
    world.database.query(&format!("SELECT 1 FROM auth.{table}")).await.len()
}

/// The world's moment so many hours ago, as SQL takes it.
fn hours_ago(world: &World, hours: i64) -> String {
    format!("'{}'::timestamptz", (world.now() - TimeDelta::hours(hours)).to_rfc3339())
}

#[tokio::test]
async fn rows_are_deleted_at_their_retention_age() {
    let world = cleaning(|_| {}).await;
    let ann = world.create_user(ANN).await;
    let (user, session) = (format!("'{}'", ann.id), format!("'{}'", ann.session));
    world.database.query("DELETE FROM auth.refresh_tokens").await;
    let app = "INSERT INTO auth.oauth_clients (id, registration_type, redirect_uris, grant_types, client_type, \
               token_endpoint_auth_method) VALUES (gen_random_uuid(), 'manual', '', '', 'public', 'none')";
    world.database.query(app).await;
    for (table, columns, values, hours) in [
        ("refresh_tokens", "token, revoked, updated_at", "gen_random_uuid(), true, AT", 24),
        ("sessions", "id, user_id, not_after", "gen_random_uuid(), USER, AT", 72),
        (
            "flow_state",
            "id, provider_type, authentication_method, created_at",
            "gen_random_uuid(), 'email', 'magiclink', AT",
            24,
        ),
        (
            "oauth_authorizations",
            "id, authorization_id, client_id, redirect_uri, scope, created_at, expires_at",
            "gen_random_uuid(), gen_random_uuid(), (SELECT id FROM auth.oauth_clients), '', '', AT - interval '1 hour', AT",
            24,
        ),
        ("oauth_client_states", "id, provider_type, created_at", "gen_random_uuid(), 'x', AT", 24),
        (
            "mfa_factors",
            "id, user_id, factor_type, status, created_at, updated_at",
            "gen_random_uuid(), USER, 'totp', 'unverified', AT, AT",
            24,
        ),
        ("webauthn_challenges", "challenge_type, session_data, expires_at", "'signup', '{}', AT", 0),
    ] {
        let before = count(&world, table).await;
        for (hours, is_old) in [(hours + 1, true), (hours - 1, false)] {
            let at = hours_ago(&world, hours);
            let values = values.replace("AT", &at).replace("USER", &user).replace("SESSION", &session);
            world.database.query(&format!("INSERT INTO auth.{table} ({columns}) VALUES ({values})")).await;
            after_writes(&world, ROUND).await;
            assert_eq!(count(&world, table).await, before + usize::from(!is_old), "{table}, {hours} hours old");
        }
    }
    assert!(world.get_as(&ann.access_token, "/user").await.status.is_success());
}

#[tokio::test]
async fn tokens_of_ended_sessions_are_revoked_then_deleted_after_a_day() {
    let world = cleaning(|_| {}).await;
    let ann = world.create_user(ANN).await;
    let at = hours_ago(&world, 25);
    world.database.query(&format!("UPDATE auth.sessions SET not_after = {at} WHERE id = '{}'", ann.session)).await;
    after_writes(&world, ROUND).await;
    assert_eq!(world.database.query("SELECT revoked FROM auth.refresh_tokens").await, ["true"]);
    world.advance(TimeDelta::hours(25));
    after_writes(&world, ROUND).await;
    assert_eq!((count(&world, "refresh_tokens").await, count(&world, "sessions").await), (0, 1));
    world.advance(TimeDelta::hours(24));
    after_writes(&world, ROUND).await;
    assert_eq!(count(&world, "sessions").await, 0);
}

#[tokio::test]
async fn expired_sessions_are_deleted_after_a_day() {
    let change: [fn(&mut Policy); 2] = [
        |policy| policy.sessions.timebox = Some(Duration::from_hours(10)),
        |policy| policy.sessions.inactivity_timeout = Some(Duration::from_hours(10)),
    ];
    for change in change {
        let world = cleaning(change).await;
        world.create_user(ANN).await;
        let refreshed = world.create_user("bob@example.com").await;
        world.advance(TimeDelta::hours(1));
        world.refresh(&refreshed.refresh_token).await.expect(200);
        world.advance(TimeDelta::hours(32));
        after_writes(&world, ROUND).await;
        assert_eq!(count(&world, "sessions").await, 2);
        world.advance(TimeDelta::hours(3));
        after_writes(&world, ROUND).await;
        assert_eq!(count(&world, "sessions").await, 0);
    }
}

#[tokio::test]
async fn old_anonymous_users_are_deleted_if_enabled() {
    for (made, kept, left) in [(true, false, 2), (false, false, 3), (true, true, 3)] {
        let world = cleaning(|policy| {
            policy.sign_up.anonymous_enabled = made;
            policy.operation.should_cleanup_keep_anonymous = kept;
        })
        .await;
        for (anonymous, days) in [(true, 31), (true, 29), (false, 31)] {
            let at = hours_ago(&world, 24 * days);
            let sql = "INSERT INTO auth.users (id, is_anonymous, created_at) VALUES (gen_random_uuid(), ";
            world.database.query(&format!("{sql}{anonymous}, {at})")).await;
        }
        after_writes(&world, ROUND).await;
        assert_eq!(count(&world, "users").await, left, "made: {made}, kept: {kept}");
    }
}

#[tokio::test]
async fn rows_are_deleted_at_the_configured_age() {
    let world = cleaning(|policy| {
        policy.operation.retention.revoked_tokens = Duration::from_hours(2);
        policy.operation.retention.ended_sessions = Duration::from_hours(4);
    })
    .await;
    let ann = world.create_user(ANN).await;
    for (hours, tokens, sessions) in [(1, 2, 2), (3, 1, 2), (5, 1, 1)] {
        world.database.query("DELETE FROM auth.sessions WHERE not_after IS NOT NULL").await;
        let at = hours_ago(&world, hours);
        let session = format!(
            "INSERT INTO auth.sessions (id, user_id, not_after) VALUES (gen_random_uuid(), '{}', {at})",
            ann.id
        );
        world.database.query(&session).await;
        world.database.query("DELETE FROM auth.refresh_tokens WHERE revoked").await;
        let token = format!("INSERT INTO auth.refresh_tokens (token, revoked, updated_at) VALUES ('t', true, {at})");
        world.database.query(&token).await;
        after_writes(&world, ROUND).await;
        let found = (count(&world, "refresh_tokens").await, count(&world, "sessions").await);
        assert_eq!(found, (tokens, sessions), "{hours} hours old");
    }
}

#[tokio::test]
async fn audit_entries_are_kept_unless_a_setting_names_their_age() {
    let world = cleaning(|_| {}).await;
    insert_audit_entries(&world, 100_000, 5).await;
    after_writes(&world, ROUND).await;
    assert_eq!(count_audit_entries(&world).await, 5);
}

#[tokio::test]
async fn old_audit_entries_are_deleted_in_rounds() {
    let world = cleaning(|policy| policy.operation.retention.audit_entries = Some(Duration::from_hours(48))).await;
    // More pages than one deletion reads, with newer entries among the older ones.
    insert_audit_entries(&world, 49, 9000).await;
    insert_audit_entries(&world, 47, 20).await;
    insert_audit_entries(&world, 49, 9000).await;
    after_writes(&world, ROUND).await;
    assert_eq!(count_audit_entries(&world).await, 20);

    insert_audit_entries(&world, 49, 7).await;
    after_writes(&world, ROUND).await;
    assert_eq!(count_audit_entries(&world).await, 27, "the next round is not due");
    world.advance(TimeDelta::minutes(121));
    after_writes(&world, ROUND).await;
    assert_eq!(count_audit_entries(&world).await, 0, "all of them are older than 48 hours now");
}

async fn insert_audit_entries(world: &World, hours: i64, number: usize) {
    let sql = format!(
        "INSERT INTO auth.audit_log_entries (id, payload, created_at)
         SELECT gen_random_uuid(), '{{\"action\": \"of the test\"}}', {} FROM generate_series(1, {number})",
        hours_ago(world, hours)
    );
    world.database.query(&sql).await;
}

async fn count_audit_entries(world: &World) -> usize {
    world.database.query("SELECT 1 FROM auth.audit_log_entries WHERE payload ->> 'action' = 'of the test'").await.len()
}

#[tokio::test]
async fn cleanup_runs_only_after_successful_writes() {
    let world = cleaning(|_| {}).await;
    let ann = world.create_user(ANN).await;
    let revoked = || async { world.database.query("SELECT 1 FROM auth.refresh_tokens WHERE revoked").await.len() };
    cleanup::run(world.app.clone(), ready(())).await;
    world.advance(TimeDelta::hours(25));
    world.database.query("UPDATE auth.refresh_tokens SET revoked = true").await;
    // The other kinds have their turn, so that this one is next.
    after_writes(&world, KINDS - 1).await;
    world.get_as(&ann.access_token, "/user").await;
    world.try_password(ANN, "wrong password").await.expect(400);
    cleanup::run(world.app.clone(), ready(())).await;
    assert_eq!(revoked().await, 1);
    world.post_as(&world.service_token(), "/admin/users", json!({"email": "bob@example.com"})).await.expect(200);
    cleanup::run(world.app.clone(), ready(())).await;
    assert_eq!(revoked().await, 0);
}

#[tokio::test]
async fn old_rows_are_deleted_in_batches_without_further_writes() {
    let world = cleaning(|_| {}).await;
    let at = hours_ago(&world, 25);
    let sql = format!(
        "INSERT INTO auth.refresh_tokens (token, revoked, updated_at)
         SELECT gen_random_uuid(), true, {at} FROM generate_series(1, 250)"
    );
    world.database.query(&sql).await;
    world.app.cleanup_signal.notify();
    for left in [150, 50, 0, 0] {
        cleanup::run(world.app.clone(), ready(())).await;
        assert_eq!(count(&world, "refresh_tokens").await, left);
    }
}

#[tokio::test]
async fn locked_rows_are_skipped() {
    let world = cleaning(|_| {}).await;
    let at = hours_ago(&world, 25);
    let sql = "INSERT INTO auth.refresh_tokens (token, revoked, updated_at) VALUES";
    world.database.query(&format!("{sql} ('a', true, {at}), ('b', true, {at})")).await;
    let mut other = PgConnection::connect_with(&world.database.admin_options()).await.expect("a connection");
    let mut working = other.begin().await.expect("a transaction");
    sqlx::raw_sql("SELECT 1 FROM auth.refresh_tokens WHERE token = 'a' FOR UPDATE")
        .execute(&mut *working)
        .await
        .expect("the row is there");
    after_writes(&world, ROUND).await;
    assert_eq!(world.database.query("SELECT token FROM auth.refresh_tokens").await, ["a"]);
    working.rollback().await.expect("it ends");
    after_writes(&world, ROUND).await;
    assert_eq!(count(&world, "refresh_tokens").await, 0);
}

#[tokio::test]
async fn hardened_policy_deletes_expired_rows() {
    let world = World::builder().as_served().build().await;
    let sql = "INSERT INTO auth.refresh_tokens (token, revoked, updated_at) VALUES ('a', true, '2020-01-01')";
    world.database.query(sql).await;
    after_writes(&world, ROUND).await;
    assert_eq!(count(&world, "refresh_tokens").await, 0);
}

#[tokio::test]
async fn hardened_policy_keeps_old_anonymous_users() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
    let at = hours_ago(&world, 24 * 31);
    let sql = "INSERT INTO auth.users (id, is_anonymous, created_at) VALUES (gen_random_uuid(), true, ";
    world.database.query(&format!("{sql}{at})")).await;
    after_writes(&world, ROUND).await;
    assert_eq!(count(&world, "users").await, 1);
}

#[tokio::test]
async fn disabled_cleanup_deletes_nothing() {
    let world = World::new().await;
    let sql = "INSERT INTO auth.refresh_tokens (token, revoked, updated_at) VALUES ('a', true, '2020-01-01')";
    world.database.query(sql).await;
    after_writes(&world, ROUND).await;
    assert_eq!(count(&world, "refresh_tokens").await, 1);
}
