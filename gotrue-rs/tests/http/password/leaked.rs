//! The lookup of leaked passwords, tested with a fake service.

use futures::future::{join, join_all};
use gotrue_rs::testing::{PASSWORD, World, WorldBuilder};
use gotrue_rules::domain::policy::{BloomFilter, HibpPolicy};
use platform::testing::Answer;
use serde_json::json;

use super::fake_pwned_passwords::{Behavior, LeakedPasswords, RecordedLookup, sha1};

const ANN: &str = "ann@example.com";
const LEAKED: &str = "password1";
const UNLEAKED: &str = "no leak has this one";

fn looking_up(list: &LeakedPasswords, change: impl FnOnce(&mut HibpPolicy)) -> WorldBuilder {
    World::builder().policy(|policy| policy.mail.autoconfirm = true).pwned_at(&list.base).policy(|policy| {
        change(&mut policy.password.hibp);
    })
}

async fn sign_up(world: &World, email: &str, password: &str) -> Answer {
    world.post("/signup", json!({"email": email, "password": password})).await
}

#[tokio::test]
async fn leaked_password_is_refused() {
    let list = LeakedPasswords::of(&[LEAKED]).await;
    let world = looking_up(&list, |_| {}).build().await;
    let refused = sign_up(&world, ANN, LEAKED).await.expect(422);
    assert_eq!(refused.str("error_code"), "weak_password");
    assert_eq!(
        refused.json.get("weak_password"),
        Some(&json!({"reasons": ["pwned"]})),
        "the reasons alone, as for every weak password"
    );
    let reported = "Password is known to be weak and easy to guess, please choose a different one.";
    assert_eq!(refused.str("msg"), reported);
    assert_eq!(world.journal().statements(), Vec::<&str>::new());
    sign_up(&world, ANN, UNLEAKED).await.expect(200);
}

#[tokio::test]
async fn only_five_hash_digits_are_sent() {
    let list = LeakedPasswords::of(&[]).await;
    let world = looking_up(&list, |hibp| "https://shop.example.com".clone_into(&mut hibp.user_agent)).build().await;
    sign_up(&world, ANN, UNLEAKED).await.expect(200);
    let path = format!("/range/{}", &sha1(UNLEAKED)[..5]);
    let user_agent = "https://shop.example.com".to_owned();
    assert_eq!(list.recorded_requests(), [RecordedLookup { path, user_agent, add_padding: "true".to_owned() }]);
}

#[tokio::test]
async fn weak_password_reasons_are_combined_with_leak_last() {
    let list = LeakedPasswords::of(&["short"]).await;
    let world = looking_up(&list, |_| {}).build().await;
    let refused = sign_up(&world, ANN, "short").await.expect(422);
    assert_eq!(refused.json.pointer("/weak_password/reasons"), Some(&json!(["length", "pwned"])));
    let reported = "Password should be at least 6 characters. Password is known to be weak and easy to guess, please choose \
                a different one.";
    assert_eq!(refused.str("msg"), reported);
}

#[tokio::test]
async fn padding_and_malformed_lines_are_ignored() {
    let list = LeakedPasswords::of(&[]).await;
    for line in [":0", ":", ":x", "", ":-1", " :5", ":5 5"] {
        list.add(&format!("{}{line}", sha1(UNLEAKED)));
    }
    list.add(&format!("{}:7", sha1(UNLEAKED).to_lowercase()));
    let world = looking_up(&list, |_| {}).build().await;
    sign_up(&world, ANN, UNLEAKED).await.expect(200);
    list.add(&format!("{}:007", sha1(UNLEAKED)));
    sign_up(&world, "bob@example.com", UNLEAKED).await.expect(422);
}

#[tokio::test]
async fn every_password_change_is_looked_up() {
    let list = LeakedPasswords::of(&[LEAKED]).await;
    let world = looking_up(&list, |_| {}).build().await;
    let user = world.create_user(ANN).await;
    let refused = world.put_as(&user.access_token, "/user", json!({"password": LEAKED})).await.expect(422);
    assert_eq!(refused.json.pointer("/weak_password/reasons"), Some(&json!(["pwned"])));
    let admin = world.service_token();
    let path = format!("/admin/users/{}", user.id);
    let refused = world.put_as(&admin, &path, json!({"password": LEAKED})).await.expect(422);
    assert_eq!(refused.json.pointer("/weak_password/reasons"), Some(&json!(["pwned"])));
    // As in the reference, an administrator may make an account with any password.
    world.post_as(&admin, "/admin/users", json!({"email": "bob@example.com", "password": LEAKED})).await.expect(200);
}

#[tokio::test]
async fn sign_in_with_leaked_password_returns_a_warning() {
    let list = LeakedPasswords::of(&[]).await;
    let world = looking_up(&list, |hibp| hibp.fail_closed = true).build().await;
    world.create_user(ANN).await;
    list.add(&format!("{}:2", sha1(PASSWORD)));
    let answer = world.try_password(ANN, PASSWORD).await.expect(200);
    assert_eq!(answer.json.pointer("/weak_password/reasons"), Some(&json!(["pwned"])));
    list.set_behavior(Behavior::Fails(503));
    let answer = world.try_password(ANN, PASSWORD).await.expect(200);
    assert_eq!(answer.json.get("weak_password"), Some(&json!(null)), "not even where the look-up must succeed");
}

#[tokio::test]
async fn a_wrong_password_is_not_looked_up() {
    let list = LeakedPasswords::of(&[]).await;
    let world = looking_up(&list, |_| {}).build().await;
    world.create_user(ANN).await;
    let before = list.recorded_requests().len();
    world.try_password(ANN, "wrong password").await.expect(400);
    world.try_password("unknown@example.com", PASSWORD).await.expect(400);
    assert_eq!(list.recorded_requests().len(), before);
}

#[tokio::test]
async fn unavailable_service_fails_open_or_closed_as_configured() {
    for (fail_closed, status) in [(false, 200), (true, 500)] {
        let list = LeakedPasswords::of(&[]).await;
        let world = looking_up(&list, |hibp| hibp.fail_closed = fail_closed).build().await;
        for (n, habit) in [Behavior::Fails(503), Behavior::Fails(404), Behavior::NeverEnds].into_iter().enumerate() {
            list.set_behavior(habit.clone());
            let answer = sign_up(&world, &format!("ann{n}@example.com"), UNLEAKED).await;
            assert_eq!(answer.status, status, "{habit:?}: {}", answer.text);
            if fail_closed {
                let reported = "Unable to perform password strength check with HaveIBeenPwned.org.";
                assert_eq!((answer.str("error_code"), answer.str("msg")), ("unexpected_failure", reported));
                assert_eq!(world.journal().statements(), Vec::<&str>::new(), "nothing is stored");
            }
        }
    }
}

#[tokio::test]
async fn lookup_times_out_after_five_seconds() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", silent.local_addr().expect("an address"));
    let world = World::builder().pwned_at(&base).policy(|policy| policy.password.hibp.fail_closed = true).build().await;
    let started = std::time::Instant::now();
    sign_up(&world, ANN, UNLEAKED).await.expect(500);
    let took = started.elapsed().as_secs_f32();
    assert!((4.5..8.0).contains(&took), "{took} s");
}

#[tokio::test]
async fn lookup_holds_no_database_connection() {
    let list = LeakedPasswords::of(&[]).await;
    let world = looking_up(&list, |_| {}).build().await;
    let user = world.create_user(ANN).await;
    // More than the world has connections.
    let gates: Vec<_> = (0..12).map(|_| world.faults.wait("pwned.look_up", 1)).collect();
    let changes =
        join_all(gates.iter().map(|_| world.put_as(&user.access_token, "/user", json!({"password": UNLEAKED}))));
    let watch = async {
        for gate in &gates {
            gate.wait_until_reached().await;
        }
        world.get_as(&user.access_token, "/user").await.expect(200);
        for gate in &gates {
            gate.open();
        }
    };
    let (answers, ()) = join(changes, watch).await;
    assert!(answers.iter().any(|answer| answer.status == 200));
}

#[tokio::test]
async fn responses_are_cached_if_enabled() {
    let list = LeakedPasswords::of(&[LEAKED]).await;
    let world = looking_up(&list, |hibp| hibp.bloom = Some(BloomFilter::default())).build().await;
    for _ in 0..3 {
        sign_up(&world, ANN, LEAKED).await.expect(422);
    }
    assert_eq!(list.recorded_requests().len(), 1);
    // Unleaked passwords are looked up every time, since they may be leaked later.
    for email in ["bob@example.com", "eve@example.com"] {
        sign_up(&world, email, UNLEAKED).await.expect(200);
    }
    assert_eq!(list.recorded_requests().len(), 3);
    // Neighbours of one answer are remembered with it.
    list.set_behavior(Behavior::Fails(503));
    sign_up(&world, ANN, LEAKED).await.expect(422);
}

#[tokio::test]
async fn cache_is_bounded_and_cleared_when_full() {
    let names: Vec<String> = (0..40).map(|n| format!("leaked password {n}")).collect();
    let passwords: Vec<&str> = names.iter().map(String::as_str).collect();
    let list = LeakedPasswords::of(&passwords).await;
    let size = BloomFilter { items: 10, false_positives: 0.0001 };
    let world = looking_up(&list, |hibp| hibp.bloom = Some(size)).build().await;
    for password in &passwords {
        sign_up(&world, ANN, password).await.expect(422);
    }
    assert_eq!(list.recorded_requests().len(), 40);
    // Eight are full; of the forty the last eight are remembered.
    for password in &passwords[32..] {
        sign_up(&world, ANN, password).await.expect(422);
    }
    assert_eq!(list.recorded_requests().len(), 40);
    sign_up(&world, ANN, passwords[0]).await.expect(422);
    assert_eq!(list.recorded_requests().len(), 41);
    sign_up(&world, ANN, UNLEAKED).await.expect(200);
}
