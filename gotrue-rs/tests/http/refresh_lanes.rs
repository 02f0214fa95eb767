//! The SQL fast path of a refresh matches the decision function for every state.
//!
//! Response and stored rows are compared for arbitrary states of token, session and user.

use std::cell::Cell;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::time::Time;
use gotrue_rs::testing::World;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use uuid::Uuid;

const TIMEBOX: i64 = 3600;
const IDLE: i64 = 1800;
const REUSE: i64 = 10;

/// A token with all that the rule looks at. Moments are microseconds before or after the present.
#[derive(Debug, Clone)]
struct State {
    revoked: Option<bool>,
    touched: Option<i64>,
    opened: i64,
    refreshed: Option<i64>,
    ends: Option<i64>,
    banned: Option<i64>,
    of_a_client: bool,
    has_session: bool,
    /// A newer token of the session: its parent is this one (true) or another.
    child: Option<bool>,
}

/// Moments at and around a limit, and any others.
fn limits_around(limit: i64) -> impl Strategy<Value = i64> {
    let edge = -limit * 1_000_000;
    prop_oneof![Just(edge - 1), Just(edge), Just(edge + 1), Just(0), -7_200_000_000..0_i64]
}

fn states() -> impl Strategy<Value = State> {
    let moment = || prop_oneof![Just(-1_i64), Just(0), Just(1), -9_000_000..9_000_000_i64];
    let rarely = |is_likely: bool| proptest::bool::weighted(if is_likely { 0.85 } else { 0.15 });
    (
        prop_oneof![4 => Just(Some(false)), 2 => Just(Some(true)), 1 => Just(None)],
        proptest::option::weighted(0.9, prop_oneof![limits_around(REUSE), limits_around(IDLE)]),
        limits_around(TIMEBOX),
        proptest::option::of(limits_around(IDLE)),
        proptest::option::weighted(0.2, moment()),
        proptest::option::weighted(0.2, moment()),
        rarely(false),
        rarely(true),
        proptest::option::weighted(0.4, any::<bool>()),
    )
        .prop_map(|(revoked, touched, opened, refreshed, ends, banned, of_a_client, has_session, child)| State {
            revoked,
            touched,
            opened,
            refreshed,
            ends,
            banned,
            of_a_client,
            has_session,
            child,
        })
}

/// What a client and the database show afterwards.
async fn outcome(world: &World, state: &State, number: u128) -> (u16, String, Vec<String>) {
    let token = format!("{number:012}");
    world.database.query(&written(state, number, &token, world.now())).await;
    let answer = world.refresh(&token).await;
    let code = if answer.str("error_code").is_empty() { answer.str("error") } else { answer.str("error_code") };
    let session = Uuid::from_u128(number);
    let left = format!(
        "SELECT concat_ws('|', CASE WHEN t.token LIKE '0%' THEN t.token ELSE 'new' END, t.revoked, t.parent,
                          to_char(t.updated_at, 'HH24:MI:SS.US'), s.refreshed_at, s.updated_at)
         FROM auth.refresh_tokens t LEFT JOIN auth.sessions s ON s.id = t.session_id
         WHERE t.user_id = '{session}' ORDER BY t.id"
    );
    (answer.status.as_u16(), code.to_owned(), world.database.query(&left).await)
}

/// The account, session and tokens as SQL. Ids are the number's.
fn written(state: &State, number: u128, token: &str, now: Time) -> String {
    let id = Uuid::from_u128(number);
    let at = |offset: Option<i64>| {
        offset.map_or("NULL".to_owned(), |offset| format!("'{}'", (now + TimeDelta::microseconds(offset)).to_rfc3339()))
    };
    let client = if state.of_a_client { format!("'{}'", Uuid::nil()).replace('0', "1") } else { "NULL".to_owned() };
    let session = if state.has_session { format!("'{id}'") } else { "NULL".to_owned() };
    let revoked = state.revoked.map_or("NULL".to_owned(), |revoked| revoked.to_string());
    let none = Uuid::nil();
    let child = state.child.map(|is_own| {
        let parent = if is_own { token } else { "somebodyelse" };
        format!(
            "INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, parent, created_at, updated_at, session_id)
             VALUES ('{none}', '0child{number:06}', '{id}', false, '{parent}', {then}, {then}, {session});",
            then = at(Some(0)),
        )
    });
    let child = child.unwrap_or_default();
    format!(
        "INSERT INTO auth.users (id, instance_id, aud, role, email, created_at, updated_at, banned_until)
         VALUES ('{id}', '{none}', 'authenticated', 'authenticated', '{number}@example.com', {then}, {then}, {banned});
         INSERT INTO auth.sessions (id, user_id, created_at, updated_at, refreshed_at, not_after, aal, oauth_client_id)
         VALUES ('{id}', '{id}', {opened}, {opened}, {refreshed}::timestamptz AT TIME ZONE 'utc', {ends}, 'aal1', {client});
         INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
         VALUES ('{none}', '{token}', '{id}', {revoked}, {then}, {touched}, {session});
         {child}",
        then = at(Some(-7_200_000_000)),
        banned = at(state.banned),
        opened = at(Some(state.opened)),
        refreshed = at(state.refreshed),
        ends = at(state.ends),
        touched = at(state.touched),
    )
}

async fn world(has_fast_lane: bool) -> World {
    let world = World::with(|policy| {
        policy.sessions.timebox = Some(Duration::from_secs(TIMEBOX.unsigned_abs()));
        policy.sessions.inactivity_timeout = Some(Duration::from_secs(IDLE.unsigned_abs()));
        policy.refresh.reuse_interval = Duration::from_secs(REUSE.unsigned_abs());
        if !has_fast_lane {
            // Has no effect without factors, but disables the fast path.
            policy.sessions.allow_low_aal = Some(Duration::from_hours(1_000_000));
        }
    })
    .await;
    let client = Uuid::nil().to_string().replace('0', "1");
    let insert = format!(
        "INSERT INTO auth.oauth_clients (id, registration_type, redirect_uris, grant_types, client_type, token_endpoint_auth_method)
         VALUES ('{client}', 'manual', 'https://a.example.com', 'authorization_code', 'public', 'none')"
    );
    world.database.query(&insert).await;
    world
}

#[test]
fn fast_path_matches_the_decision_function() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (fast, slow) = runtime.block_on(async { (world(true).await, world(false).await) });
    let (number, taken, refused) = (Cell::new(0_u128), Cell::new(0_usize), Cell::new(0_usize));
    let config = Config { cases: 96, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&states(), |state| {
        number.set(number.get() + 1);
        let fast_outcome = runtime.block_on(outcome(&fast, &state, number.get()));
        let is_taken = fast.journal().statements() == ["refresh_tokens.rotate_fast"];
        taken.set(taken.get() + usize::from(is_taken));
        let slow_outcome = runtime.block_on(outcome(&slow, &state, number.get()));
        refused.set(refused.get() + usize::from(slow_outcome.0 != 200));
        assert!(!slow.journal().statements().contains(&"refresh_tokens.rotate_fast"), "the lane was to be off");
        prop_assert_eq!(fast_outcome, slow_outcome);
        Ok(())
    });
    run.unwrap_or_else(|broken| panic!("{broken}"));
    assert!(taken.get() > 3 && refused.get() > 3, "too few of one kind: {taken:?} and {refused:?}");
}
