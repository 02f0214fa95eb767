//! The SQL fast path of a refresh with a signed token matches the decision function for every state.
//!
//! Response and stored rows are compared for arbitrary states of session, key and user.

use std::cell::Cell;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::time::Time;
use gotrue_rs::testing::World;
use gotrue_rules::domain::refresh::{RefreshTokenKey, SignedToken};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use uuid::Uuid;

const TIMEBOX: i64 = 3600;
const IDLE: i64 = 1800;
const REUSE: i64 = 10;
const CLIENT: &str = "11111111-1111-1111-1111-111111111111";

/// The key that the session has.
#[derive(Debug, Clone, Copy)]
enum StoredKey {
    /// That of the token.
    Own,
    /// That of the token, with other bits after its last byte, which decoding ignores.
    OwnWithTrailingBits,
    /// Another one.
    Other,
    /// One of another length, which signed the token.
    Short,
    /// A text that is no key.
    Malformed,
    Missing,
}

/// A session with all that the rule looks at. Moments are microseconds before or after the present.
#[derive(Debug, Clone)]
struct State {
    key: StoredKey,
    secret: [u8; 32],
    counter: Option<i64>,
    /// How far the counter of the token is behind.
    behind: i64,
    opened: i64,
    refreshed: Option<i64>,
    ends: Option<i64>,
    banned: Option<i64>,
    of_a_client: bool,
    has_session: bool,
}

/// Moments at and around a limit, and any others.
fn limits_around(limit: i64) -> impl Strategy<Value = i64> {
    let edge = -limit * 1_000_000;
    prop_oneof![Just(edge - 1), Just(edge), Just(edge + 1), Just(0), -7_200_000_000..0_i64]
}

fn states() -> impl Strategy<Value = State> {
    let moment = || prop_oneof![Just(-1_i64), Just(0), Just(1), -9_000_000..9_000_000_i64];
    let key = prop_oneof![
        8 => Just(StoredKey::Own),
        2 => Just(StoredKey::OwnWithTrailingBits),
        1 => Just(StoredKey::Other),
        1 => Just(StoredKey::Short),
        1 => Just(StoredKey::Malformed),
        1 => Just(StoredKey::Missing),
    ];
    (
        key,
        any::<[u8; 32]>(),
        prop_oneof![1 => Just(None), 1 => Just(Some(i64::MAX)), 6 => (0..1_000_000_i64).prop_map(Some)],
        prop_oneof![5 => Just(0_i64), 1 => Just(1), 1 => Just(2), 1 => Just(-1)],
        limits_around(TIMEBOX),
        proptest::option::of(prop_oneof![limits_around(IDLE), limits_around(REUSE)]),
        proptest::option::weighted(0.15, moment()),
        proptest::option::weighted(0.15, moment()),
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.95),
    )
        .prop_map(|(key, secret, counter, behind, opened, refreshed, ends, banned, of_a_client, has_session)| {
            State { key, secret, counter, behind, opened, refreshed, ends, banned, of_a_client, has_session }
        })
}

impl State {
    /// The stored text of the key, and the token.
    fn key_and_token(&self, session: Uuid) -> (Option<String>, String) {
        let (own, short) = (RefreshTokenKey::new(self.secret), RefreshTokenKey::from_stored("c2hvcnQ").expect("a key"));
        let stored = own.to_stored();
        // The last of 43 characters has two bits beyond the 256 of the key.
        let (rest, last) = stored.split_at(42);
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let index = alphabet.find(last).expect("a character of base64url");
        let (stored, signs) = match self.key {
            StoredKey::Own => (Some(stored), own),
            StoredKey::OwnWithTrailingBits => (Some(format!("{rest}{}", &alphabet[index + 1..index + 2])), own),
            StoredKey::Other => (Some(RefreshTokenKey::new([9; 32]).to_stored()), own),
            StoredKey::Short => (Some(short.to_stored()), short),
            StoredKey::Malformed => (Some("no key!".to_owned()), own),
            StoredKey::Missing => (None, own),
        };
        (stored, SignedToken::encode(session, self.presented_counter(), &signs))
    }

    /// The counter of the token, which is never negative.
    fn presented_counter(&self) -> i64 {
        self.counter.unwrap_or_default().saturating_sub(self.behind).max(0)
    }

    /// Whether the fast path takes an accepted refresh of this state.
    fn has_fast_path(&self) -> bool {
        let counter = self.counter.unwrap_or_default();
        self.presented_counter() == counter && counter != i64::MAX
    }

    /// The account and the session as SQL. Ids are the number's.
    fn to_sql(&self, id: Uuid, key: Option<&str>, now: Time) -> String {
        let at = |offset: Option<i64>| {
            offset.map_or("NULL".to_owned(), |offset| {
                format!("'{}'", (now + TimeDelta::microseconds(offset)).to_rfc3339())
            })
        };
        let quoted = |text: Option<&str>| text.map_or("NULL".to_owned(), |text| format!("'{text}'"));
        let account = format!(
            "INSERT INTO auth.users (id, instance_id, aud, role, email, raw_user_meta_data, created_at, updated_at,
                                     banned_until)
             VALUES ('{id}', '{none}', 'authenticated', 'authenticated', '{id}@example.com', '{{\"full_name\": \"Ann\"}}',
                     {then}, {then}, {banned});",
            none = Uuid::nil(),
            then = at(Some(-7_200_000_000)),
            banned = at(self.banned),
        );
        if !self.has_session {
            return account;
        }
        format!(
            "{account}
             INSERT INTO auth.sessions (id, user_id, created_at, updated_at, refreshed_at, not_after, aal,
                                        oauth_client_id, refresh_token_hmac_key, refresh_token_counter)
             VALUES ('{id}', '{id}', {opened}, {opened}, {refreshed}::timestamptz AT TIME ZONE 'utc', {ends}, 'aal1',
                     {client}, {key}, {counter})",
            opened = at(Some(self.opened)),
            refreshed = at(self.refreshed),
            ends = at(self.ends),
            client = quoted(Some(CLIENT).filter(|_| self.of_a_client)),
            key = quoted(key),
            counter = self.counter.map_or("NULL".to_owned(), |counter| counter.to_string()),
        )
    }
}

/// What a client and the database show afterwards.
async fn outcome(world: &World, state: &State, number: u128) -> (u16, Vec<String>, Vec<String>) {
    let id = Uuid::from_u128(number);
    let (key, token) = state.key_and_token(id);
    world.database.query(&state.to_sql(id, key.as_deref(), world.now())).await;
    let answer = world.refresh(&token).await;
    let shown = ["error_code", "error", "refresh_token", "user/email"].map(|name| answer.str(name).to_owned());
    let headers = ["user-id", "session-id", "refresh-token-counter", "refresh-token-reuse", "refresh-token-rotated"]
        .map(|name| answer.header(&format!("sb-auth-{name}")).to_owned());
    let left = format!(
        "SELECT concat_ws('|', s.refresh_token_counter, s.refresh_token_hmac_key, s.refreshed_at, s.updated_at,
                          s.user_agent, s.ip, u.updated_at)
         FROM auth.users u LEFT JOIN auth.sessions s ON s.user_id = u.id WHERE u.id = '{id}'
         UNION ALL
         SELECT concat_ws('|', payload, created_at, ip_address) FROM auth.audit_log_entries
         WHERE payload ->> 'actor_id' = '{id}'"
    );
    (answer.status.as_u16(), [&shown[..], &headers[..]].concat(), world.database.query(&left).await)
}

async fn world(has_fast_lane: bool) -> World {
    let world = World::with(|policy| {
        policy.refresh.algorithm_version = 2;
        policy.sessions.timebox = Some(Duration::from_secs(TIMEBOX.unsigned_abs()));
        policy.sessions.inactivity_timeout = Some(Duration::from_secs(IDLE.unsigned_abs()));
        policy.refresh.reuse_interval = Duration::from_secs(REUSE.unsigned_abs());
        if !has_fast_lane {
            // Has no effect without factors, but disables the fast path.
            policy.sessions.allow_low_aal = Some(Duration::from_hours(1_000_000));
        }
    })
    .await;
    let insert = format!(
        "INSERT INTO auth.oauth_clients (id, registration_type, redirect_uris, grant_types, client_type, token_endpoint_auth_method)
         VALUES ('{CLIENT}', 'manual', 'https://a.example.com', 'authorization_code', 'public', 'none')"
    );
    world.database.query(&insert).await;
    world
}

#[test]
fn fast_path_of_signed_tokens_matches_the_decision_function() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (fast, slow) = runtime.block_on(async { (world(true).await, world(false).await) });
    let (number, taken, refused) = (Cell::new(0_u128), Cell::new(0_usize), Cell::new(0_usize));
    let config = Config { cases: 128, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&states(), |state| {
        number.set(number.get() + 1);
        let fast_outcome = runtime.block_on(outcome(&fast, &state, number.get()));
        let is_taken = fast.journal().statements() == ["sessions.with_account", "sessions.advance_fast"];
        taken.set(taken.get() + usize::from(is_taken));
        let slow_outcome = runtime.block_on(outcome(&slow, &state, number.get()));
        refused.set(refused.get() + usize::from(slow_outcome.0 != 200));
        assert!(!slow.journal().statements().contains(&"sessions.advance_fast"), "the lane was to be off");
        prop_assert_eq!(
            is_taken,
            slow_outcome.0 == 200 && state.has_fast_path(),
            "the usual refresh is two statements"
        );
        prop_assert_eq!(fast_outcome, slow_outcome);
        Ok(())
    });
    run.unwrap_or_else(|broken| panic!("{broken}"));
    assert!(taken.get() > 3 && refused.get() > 3, "too few of one kind: {taken:?} and {refused:?}");
}
