//! Ways in without a password, under every class that they could fall to.

use std::net::{IpAddr, Ipv4Addr};

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use gotrue_rules::domain::policy::PasswordHash;
use serde_json::json;

const ANN: &str = "ann@example.com";
const NUMBER: &str = "15550100";

/// A world as served, with cheap hashes.
async fn served() -> World {
    let cheap = PasswordHash::Bcrypt { cost: 4 };
    World::builder().as_served().with_phones().policy(|policy| policy.password.hash = cheap).build().await
}

fn hash_of(link: &str) -> String {
    let (_, rest) = link.split_once("token=").expect("a link has a token");
    rest.split('&').next().unwrap_or_default().to_owned()
}

/// An attacker signs up with an e-mail address whose owner then signs in by mail.
#[tokio::test]
async fn b1_email_sign_in_removes_the_password_of_an_unconfirmed_sign_up() {
    for path in ["/otp", "/magiclink"] {
        let world = served().await;
        world.post("/signup", json!({"email": ANN, "password": "the attacker's"})).await.expect(200);
        world.advance(TimeDelta::minutes(2));
        world.post(path, json!({"email": ANN})).await.expect(200);
        let code = json!({"type": "email", "email": ANN, "token": world.code(ANN)});
        world.post("/verify", code).await.expect(200);
        let attempt = world.try_password(ANN, "the attacker's").await;
        assert_eq!(attempt.refusal(), (400, "invalid_credentials"), "{path}");
    }
}

/// The same with a phone number.
#[tokio::test]
async fn b1_sms_sign_in_removes_the_password_of_an_unconfirmed_sign_up() {
    let world = served().await;
    world.post("/signup", json!({"phone": NUMBER, "password": "the attacker's"})).await.expect(200);
    world.advance(TimeDelta::minutes(2));
    world.post("/otp", json!({"phone": NUMBER})).await.expect(200);
    let code = json!({"type": "sms", "phone": NUMBER, "token": world.phones.latest(NUMBER).code});
    world.post("/verify", code).await.expect(200);
    let body = json!({"phone": NUMBER, "password": "the attacker's"});
    let attempt = world.post("/token?grant_type=password", body).await;
    assert_eq!(attempt.refusal(), (400, "invalid_credentials"));
}

/// A passwordless user keeps no password of a sign-up before confirmation.
#[tokio::test]
async fn b1_password_set_during_a_pending_sign_in_is_discarded() {
    let world = served().await;
    world.post("/otp", json!({"email": ANN})).await.expect(200);
    world.advance(TimeDelta::minutes(2));
    world.post("/signup", json!({"email": ANN, "password": "the attacker's"})).await.expect(200);
    let code = json!({"type": "email", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", code).await.expect(200);
    assert_eq!(world.try_password(ANN, "the attacker's").await.refusal(), (400, "invalid_credentials"));
}

/// Code and link of one mail are one token, and a new mail invalidates earlier ones of every type.
#[tokio::test]
async fn c4_redeeming_a_token_invalidates_its_other_forms() {
    for (first, second) in [("/otp", "/otp"), ("/otp", "/recover"), ("/recover", "/magiclink"), ("/magiclink", "/otp")]
    {
        let world = World::new().await;
        world.create_user(ANN).await;
        world.advance(TimeDelta::seconds(1));
        world.post(first, json!({"email": ANN})).await.expect(200);
        let old = (world.code(ANN), hash_of(&world.link(ANN)));
        world.advance(TimeDelta::seconds(1));
        world.post(second, json!({"email": ANN})).await.expect(200);
        let new = (world.code(ANN), hash_of(&world.link(ANN)));
        let forms = |(code, hash): &(String, String)| {
            [json!({"type": "email", "email": ANN, "token": code}), json!({"type": "email", "token_hash": hash})]
        };
        if old.0 != new.0 {
            for body in forms(&old) {
                assert_eq!(world.post("/verify", body).await.refusal(), (403, "otp_expired"), "{first} {second}");
            }
        }
        let [code, hash] = forms(&new);
        world.post("/verify", hash.clone()).await.expect(200);
        for body in [code, hash] {
            assert_eq!(world.post("/verify", body).await.refusal(), (403, "otp_expired"), "{first} {second}");
        }
    }
}

/// C: who signs in by one secret has used up all that are on their way.
#[tokio::test]
async fn c4_sign_in_invalidates_sibling_tokens() {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    let ann = world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    world.put_as(&ann.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
    world.post("/otp", json!({"email": ANN})).await.expect(200);
    let code = json!({"type": "magiclink", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", code).await.expect(200);
    let sibling = world.get(&world.link("new@example.com")).await.expect(303);
    assert!(sibling.header("location").contains("error_code=otp_expired"), "{}", sibling.header("location"));
}

/// Guesses share one limit across code types.
#[tokio::test]
async fn d2_code_guesses_of_every_type_share_one_limit() {
    let world = World::builder()
        .as_served()
        .with_phones()
        .policy(|policy| {
            policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
            policy.limits.verify.burst = 5.0;
            policy.limits.verify.events = 5.0;
        })
        .build()
        .await;
    world.post("/otp", json!({"email": ANN})).await.expect(200);
    world.post("/otp", json!({"phone": NUMBER})).await.expect(200);
    let mut through = 0;
    for n in 0..12 {
        let token = format!("00000{n}");
        let body = match n % 4 {
            0 => json!({"type": "email", "email": ANN, "token": token}),
            1 => json!({"type": "magiclink", "email": ANN, "token": token}),
            2 => json!({"type": "sms", "phone": NUMBER, "token": token}),
            _ => json!({"type": "signup", "token_hash": token}),
        };
        let peer = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
        through += usize::from(world.post_from(peer, "/verify", &[], body).await.status != 429);
    }
    assert_eq!(through, 5);
}

/// The response reveals neither existence nor state of a user.
#[tokio::test]
async fn d3_message_requests_get_identical_responses() {
    let requests =
        [("/otp", ""), ("/magiclink", ""), ("/recover", ""), ("/resend", "signup"), ("/resend", "email_change")];
    for (path, kind) in requests {
        let world = World::new().await;
        let changing = world.create_user("changing@example.com").await;
        world.create_user("known@example.com").await;
        let waiting = json!({"email": "waiting@example.com", "password": PASSWORD});
        world.post("/signup", waiting).await.expect(200);
        world.advance(TimeDelta::seconds(1));
        world.put_as(&changing.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
        world.advance(TimeDelta::seconds(1));
        for name in ["known", "waiting", "changing", "new", "nobody"] {
            let body = json!({"email": format!("{name}@example.com"), "type": kind});
            let answer = world.post(path, body).await;
            let headers: Vec<_> = answer.headers.keys().map(http::HeaderName::as_str).collect();
            assert_eq!((answer.status.as_u16(), &*answer.text), (200, "{}"), "{path} {name}");
            assert!(!headers.iter().any(|name| name.starts_with("sb-")), "{path} {name} {headers:?}");
        }
    }
}

/// An unknown challenge method gets the same response too.
#[tokio::test]
async fn d3_unknown_challenge_method_is_refused_before_user_lookup() {
    let world = World::builder().as_served().build().await;
    world.create_user(ANN).await;
    let flow = |email: &str, kind: &str| {
        let challenge = "c".repeat(43);
        json!({"email": email, "type": kind, "code_challenge": challenge, "code_challenge_method": "sha1"})
    };
    for kind in ["signup", "email_change"] {
        let known = world.post("/resend", flow(ANN, kind)).await.expect(500);
        let unknown = world.post("/resend", flow("unknown@example.com", kind)).await.expect(500);
        assert_eq!(known.str("msg"), unknown.str("msg"));
    }
}

/// An e-mail address has one user in every letter case, and look-alikes are refused.
#[tokio::test]
async fn d4_email_spellings_sign_in_to_one_user() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    for email in ["ANN@EXAMPLE.COM", "Ann@Example.com"] {
        world.advance(TimeDelta::seconds(1));
        world.post("/otp", json!({"email": email})).await.expect(200);
        let code = json!({"type": "email", "email": email, "token": world.code(ANN)});
        assert_eq!(TestUser::from_session(&world.post("/verify", code).await).id, ann.id);
    }
    let mails = world.mailbox.all().len();
    for email in ["\u{430}nn@example.com", "\u{ff41}nn@example.com", "a\u{200b}nn@example.com", "ann@example.com "] {
        for path in ["/otp", "/magiclink"] {
            assert_eq!(world.post(path, json!({"email": email})).await.refusal(), (400, "validation_failed"));
        }
        let again = world.post("/resend", json!({"email": email, "type": "signup"})).await;
        assert_eq!(again.refusal(), (400, "validation_failed"));
    }
    assert_eq!(world.mailbox.all().len(), mails);
}

/// A phone number has one user.
#[tokio::test]
async fn d4_phone_spellings_sign_in_to_one_user() {
    let world = served().await;
    let mut ids = Vec::new();
    for phone in ["15550100", "+15550100", "+1 555 0100"] {
        world.post("/otp", json!({"phone": phone})).await.expect(200);
        let code = json!({"type": "sms", "phone": phone, "token": world.phones.latest(NUMBER).code});
        ids.push(TestUser::from_session(&world.post("/verify", code).await).id);
        world.advance(TimeDelta::minutes(2));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

/// Additional members of a sign-up become metadata only.
#[tokio::test]
async fn f1_new_user_sets_only_metadata() {
    let world = World::new().await;
    for path in ["/otp", "/magiclink"] {
        let email = format!("x{}@example.com", path.len());
        let body = json!({
            "email": email, "role": "service_role", "aud": "other", "password": "chosen", "email_confirm": true,
            "app_metadata": {"admin": true}, "data": {"role": "admin", "email_verified": true},
        });
        world.post(path, body).await.expect(200);
        let stored = "SELECT aud || ' ' || role || ' ' || raw_app_meta_data::text || ' ' || \
                      (email_confirmed_at IS NULL)::text FROM auth.users";
        let stored = world.database.query(&format!("{stored} WHERE email = '{email}'")).await.concat();
        let plain = "authenticated authenticated {\"provider\": \"email\", \"providers\": [\"email\"]} true";
        assert_eq!(stored, plain, "{path}");
        assert_eq!(world.try_password(&email, "chosen").await.refusal(), (400, "invalid_credentials"));
    }
}
