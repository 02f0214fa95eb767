//! D: limits, spellings, and what an answer gives away.

use std::net::IpAddr;
use std::time::Instant;

use chrono::TimeDelta;
use foundation::limits::LimitKey;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::policy::{PasswordHash, Policy};
use platform::journal::Step;
use platform::testing::Answer;
use serde_json::json;

const ANN: &str = "ann@example.com";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A world as served in which five requests of a kind are allowed.
async fn limited(change: impl FnOnce(&mut Policy)) -> World {
    World::builder()
        .as_served()
        .policy(|policy| {
            policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
            for bucket in [&mut policy.limits.token_refresh, &mut policy.limits.verify, &mut policy.limits.otp] {
                bucket.burst = 5.0;
                bucket.events = 5.0;
            }
            change(policy);
        })
        .build()
        .await
}

async fn guess(world: &World, peer: &str, headers: &[(&str, &str)]) -> Answer {
    let body = json!({"email": ANN, "password": "a guess"});
    world.post_from(address(peer), "/token?grant_type=password", headers, body).await
}

/// How many guesses are let through.
async fn guesses(world: &World, tries: impl IntoIterator<Item = (String, Vec<(&'static str, String)>)>) -> usize {
    let mut through = 0;
    for (peer, headers) in tries {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        through += usize::from(guess(world, &peer, &headers).await.status != 429);
    }
    through
}

#[tokio::test]
async fn d1_forwarded_headers_do_not_bypass_a_limit() {
    let names = ["x-forwarded-for", "sb-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip", "x-client-ip"];
    for name in names {
        let world = limited(|_| {}).await;
        let tries = (0..12).map(|n| ("203.0.113.7".to_owned(), vec![(name, format!("198.51.100.{n}"))]));
        assert_eq!(guesses(&world, tries).await, 5, "{name}");
    }
}

#[tokio::test]
async fn d1_ipv6_prefix_of_one_customer_counts_as_one() {
    let world = limited(|_| {}).await;
    let tries = (0..12).map(|n| (format!("2001:db8:1:2:{n}::{n}"), Vec::new()));
    assert_eq!(guesses(&world, tries).await, 5);
    assert_eq!(guess(&world, "2001:db8:1:3::1", &[]).await.status, 400, "another network is another");
}

#[tokio::test]
async fn d1_all_spellings_of_an_ip_address_share_a_limit() {
    let world = limited(|_| {}).await;
    let spellings = ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107"];
    let tries = (0..12).map(|n| (spellings[n % 3].to_owned(), Vec::new()));
    assert_eq!(guesses(&world, tries).await, 5);
}

#[tokio::test]
async fn d1_trusted_proxy_supplies_only_the_last_hop() {
    let trusted = |policy: &mut Policy| {
        policy.limits.key = LimitKey::Peer { trusted_proxies: vec!["10.0.0.0/8".parse().expect("a network")] };
    };
    let world = limited(trusted).await;
    let forged = |n: usize| vec![("x-forwarded-for", format!("198.51.100.{n}, 203.0.113.7"))];
    assert_eq!(guesses(&world, (0..12).map(|n| ("10.1.2.3".to_owned(), forged(n)))).await, 5);
    let other = [("x-forwarded-for", "203.0.113.8")];
    assert_eq!(guess(&world, "10.1.2.3", &other).await.status, 400, "another caller is another");
}

#[tokio::test]
async fn d2_code_guesses_share_a_limit_across_methods_and_spellings() {
    let world = limited(|_| {}).await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    let mut through = 0;
    for (n, email) in [ANN, "ANN@example.com", "Ann@Example.Com"].into_iter().cycle().take(8).enumerate() {
        let body = json!({"type": "signup", "email": email, "token": format!("{n:06}")});
        through += usize::from(world.post("/verify", body).await.status != 429);
        through += usize::from(world.get(&format!("/verify?type=signup&token={n}")).await.status != 429);
        through += usize::from(world.get(&format!("/verify/?type=signup&token={n}")).await.status != 429);
    }
    assert_eq!(through, 5);
}

#[tokio::test]
async fn d2_every_grant_type_shares_one_limit() {
    let world = limited(|_| {}).await;
    let mut through = 0;
    for n in 0..9 {
        let (path, body) = [
            ("/token?grant_type=password", json!({"email": ANN, "password": "a guess"})),
            ("/token?grant_type=refresh_token", json!({"refresh_token": format!("abcdefgh{n:04}")})),
            ("/token?grant_type=pkce", json!({"auth_code": n.to_string(), "code_verifier": "x"})),
        ][n % 3]
            .clone();
        through += usize::from(world.post(path, body).await.status != 429);
    }
    assert_eq!(through, 5);
}

#[tokio::test]
async fn d2_rate_limited_response_has_retry_after() {
    let world = limited(|_| {}).await;
    for _ in 0..5 {
        guess(&world, "203.0.113.7", &[]).await;
    }
    let answer = guess(&world, "203.0.113.7", &[]).await.expect(429);
    assert_eq!(answer.refusal(), (429, "over_request_rate_limit"));
    assert!(answer.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0), "{:?}", answer.headers);
}

#[tokio::test]
async fn d3_unknown_email_and_wrong_secret_get_identical_responses() {
    let world = World::new().await;
    world.create_user(ANN).await;
    for (path, known, unknown) in [
        (
            "/token?grant_type=password",
            json!({"email": ANN, "password": "x"}),
            json!({"email": "b@example.com", "password": "x"}),
        ),
        (
            "/verify",
            json!({"type": "signup", "email": ANN, "token": "1"}),
            json!({"type": "signup", "email": "b@example.com", "token": "1"}),
        ),
        (
            "/verify",
            json!({"type": "recovery", "email": ANN, "token": "1"}),
            json!({"type": "recovery", "email": "b@example.com", "token": "1"}),
        ),
        ("/recover", json!({"email": ANN}), json!({"email": "b@example.com"})),
    ] {
        let (known, unknown) = (world.post(path, known).await, world.post(path, unknown).await);
        assert_eq!((known.status, &known.text), (unknown.status, &unknown.text), "{path}");
        assert_eq!(known.headers.keys().collect::<Vec<_>>(), unknown.headers.keys().collect::<Vec<_>>(), "{path}");
    }
}

#[tokio::test]
async fn d3_unknown_email_takes_the_same_steps_as_a_wrong_password() {
    let world = World::new().await;
    world.create_user(ANN).await;
    let mut steps = Vec::new();
    for email in [ANN, "unknown@example.com"] {
        world.try_password(email, "a guess").await.expect(400);
        steps.push(world.journal().steps());
    }
    assert_eq!(steps[0], steps[1]);
}

#[tokio::test]
async fn d3_unknown_email_takes_as_long_as_a_wrong_password() {
    let world = World::with(|policy| policy.password.hash = PasswordHash::Bcrypt { cost: 8 }).await;
    world.create_user(ANN).await;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        for (email, times) in [(ANN, &mut known), ("unknown@example.com", &mut unknown)] {
            let started = Instant::now();
            world.try_password(email, "a guess").await.expect(400);
            times.push(started.elapsed());
        }
    }
    known.sort();
    unknown.sort();
    // The minimum of many runs is the actual work; without the dummy hash it would be less than a tenth.
    let (known, unknown) = (known[1].as_secs_f64(), unknown[1].as_secs_f64());
    assert!(unknown > known * 0.5 && unknown < known * 2.0, "unknown {unknown}, known {known}");
}

fn hashings(world: &World) -> usize {
    let is_hashing = |step: &Step| matches!(step, Step::Call("hashing.hash" | "hashing.verify"));
    world.journal().steps().iter().filter(|step| is_hashing(step)).count()
}

#[tokio::test]
async fn d3_sign_up_and_otp_work_does_not_reveal_account_existence() {
    let world = World::new().await;
    world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    for (path, expected) in [("/signup", 1), ("/otp", 0), ("/magiclink", 0), ("/recover", 0), ("/resend", 0)] {
        for (email, who) in [(ANN, "known"), (&*format!("new{expected}{}@example.com", path.len()), "unknown")] {
            let body = json!({"email": email, "password": PASSWORD, "type": "signup"});
            world.post(path, body).await.expect(200);
            assert_eq!(hashings(&world), expected, "{path} of an {who} address");
            world.advance(TimeDelta::seconds(1));
        }
    }
}

#[tokio::test]
async fn d4_email_is_case_insensitive() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    for email in ["ANN@EXAMPLE.COM", "Ann@Example.com"] {
        let answer = world.post("/signup", json!({"email": email, "password": "another password"})).await.expect(200);
        assert_eq!(answer.json.pointer("/identities"), Some(&json!([])), "a stand-in");
        assert_eq!(world.try_password(email, PASSWORD).await.expect(200).str("user/id"), user.id);
    }
}

#[tokio::test]
async fn d4_homograph_email_is_refused() {
    let world = World::new().await;
    world.create_user(ANN).await;
    for email in [
        "\u{430}nn@example.com",
        "ann@ex\u{430}mple.com",
        "\u{ff41}nn@example.com",
        "ann@example\u{3002}com",
        "a\u{200b}nn@example.com",
        "ann@example.com\u{0}",
        " ann@example.com",
        "ann@example.com ",
        "ann@example.com\u{202e}",
    ] {
        let answer = world.post("/signup", json!({"email": email, "password": PASSWORD})).await;
        // A zero byte is refused wherever it stands in a body.
        let code = if email.contains('\0') { "bad_json" } else { "validation_failed" };
        assert_eq!(answer.refusal(), (400, code), "{email:?}");
        let recovery = world.post("/recover", json!({"email": email})).await;
        assert_eq!(recovery.status, 400, "{email:?}");
        let sign_in = world.try_password(email, PASSWORD).await;
        assert_ne!(sign_in.status, 200, "{email:?}");
    }
    // The Kelvin sign is a k in lower case: no second account for it.
    let kim = world.create_user("kim@example.com").await;
    let answer = world.post("/signup", json!({"email": "\u{212a}im@example.com", "password": PASSWORD})).await;
    assert_ne!(answer.str("id"), kim.id);
    assert!(world.database.query("SELECT id FROM auth.users").await.len() == 2, "{}", answer.text);
}

#[tokio::test]
async fn d5_guesses_do_not_lock_out_or_delay_the_owner() {
    let world = limited(|policy| policy.mail.autoconfirm = true).await;
    world.create_user(ANN).await;
    for _ in 0..20 {
        guess(&world, "203.0.113.7", &[]).await;
    }
    assert_eq!(guess(&world, "203.0.113.7", &[]).await.status, 429);
    let body = json!({"email": ANN, "password": PASSWORD});
    world.post_from(address("198.51.100.1"), "/token?grant_type=password", &[], body).await.expect(200);
}

#[tokio::test]
async fn d1_only_the_right_password_tells_of_a_ban() {
    for is_served in [true, false] {
        let world = if is_served { World::builder().as_served().build().await } else { World::new().await };
        world.create_user("ann@example.com").await;
        world.database.query("UPDATE auth.users SET banned_until = 'infinity'").await;
        let (banned, invalid) = ((400, "user_banned"), (400, "invalid_credentials"));
        let wrong = world.try_password("ann@example.com", "a wrong password").await;
        assert_eq!(wrong.refusal(), if is_served { invalid } else { banned });
        assert_eq!(world.try_password("ann@example.com", PASSWORD).await.refusal(), banned);
        let unknown = world.try_password("eve@example.com", "a wrong password").await;
        assert_eq!(unknown.refusal(), invalid);
    }
}
