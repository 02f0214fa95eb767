//! B: whose account it becomes, and what a secret is good for.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";
const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more";

fn hash_of(link: &str) -> String {
    let (_, rest) = link.split_once("token=").expect("a link has a token");
    rest.split('&').next().unwrap_or_default().to_owned()
}

/// An account with a pending secret of that purpose: the code, and the hash of the link.
async fn pending(purpose: &str) -> (World, String, String) {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    let to = match purpose {
        "signup" => {
            world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
            ANN
        }
        "recovery" => {
            world.create_user(ANN).await;
            world.post("/recover", json!({"email": ANN})).await.expect(200);
            ANN
        }
        "email_change" => {
            let user = world.create_user(ANN).await;
            world.put_as(&user.access_token, "/user", json!({"email": "new@example.com"})).await.expect(200);
            "new@example.com"
        }
        _ => {
            let user = world.create_user(ANN).await;
            world.get_as(&user.access_token, "/reauthenticate").await.expect(200);
            ANN
        }
    };
    let mail = world.mailbox.latest(to);
    let hash = mail.link.map(|link| hash_of(&link)).unwrap_or_default();
    (world, mail.code.unwrap_or_default(), hash)
}

#[tokio::test]
async fn b1_sign_up_with_foreign_email_gets_no_session_before_confirmation() {
    let world = World::builder().as_served().build().await;
    let answer = world.post("/signup", json!({"email": ANN, "password": "the attacker's"})).await.expect(200);
    assert!(answer.json.get("access_token").is_none());
    assert_eq!(world.try_password(ANN, "the attacker's").await.refusal(), (400, "email_not_confirmed"));
}

#[tokio::test]
async fn b1_contested_sign_up_keeps_no_password_the_owner_did_not_choose() {
    for (first, second) in [("the attacker's", PASSWORD), (PASSWORD, "the attacker's")] {
        let world = World::builder().as_served().build().await;
        for password in [first, second] {
            world.post("/signup", json!({"email": ANN, "password": password})).await.expect(200);
            world.advance(TimeDelta::minutes(2));
        }
        let verify = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
        let owner = TestUser::from_session(&world.post("/verify", verify).await);
        for password in [first, second] {
            assert_eq!(world.try_password(ANN, password).await.refusal(), (400, "invalid_credentials"));
        }
        world.put_as(&owner.access_token, "/user", json!({"password": PASSWORD})).await.expect(200);
        world.sign_in(ANN).await;
        assert_eq!(world.try_password(ANN, "the attacker's").await.status, 400);
    }
}

/// An attacker signs up with the address; its owner gets in by a mail that the attacker did not cause.
#[tokio::test]
async fn b1_password_from_before_the_confirmation_ends_with_it() {
    for way in ["recovery", "invite", "generated recovery", "generated magiclink"] {
        let world = World::builder().as_served().build().await;
        world.post("/signup", json!({"email": ANN, "password": "the attacker's"})).await.expect(200);
        world.advance(TimeDelta::minutes(2));
        let (kind, hash) = match way {
            "recovery" => {
                world.post("/recover", json!({"email": ANN})).await.expect(200);
                ("recovery", hash_of(&world.mailbox.latest(ANN).link.expect("a link")))
            }
            "invite" => {
                world.post_as(&world.service_token(), "/invite", json!({"email": ANN})).await.expect(200);
                ("invite", hash_of(&world.mailbox.latest(ANN).link.expect("a link")))
            }
            generated => {
                let kind = if generated.ends_with("recovery") { "recovery" } else { "magiclink" };
                let link = world
                    .post_as(&world.service_token(), "/admin/generate_link", json!({"type": kind, "email": ANN}))
                    .await
                    .expect(200);
                (kind, link.str("hashed_token").to_owned())
            }
        };
        let verified = world.post("/verify", json!({"type": kind, "token_hash": hash})).await.expect(200);
        let owner = TestUser::from_session(&verified);
        assert_eq!(world.try_password(ANN, "the attacker's").await.refusal(), (400, "invalid_credentials"), "{way}");
        world.put_as(&owner.access_token, "/user", json!({"password": PASSWORD})).await.expect(200);
        world.sign_in(ANN).await;
    }
}

#[tokio::test]
async fn b1_repeated_sign_up_with_one_password_keeps_it() {
    let world = World::builder().as_served().build().await;
    for _ in 0..2 {
        world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
        world.advance(TimeDelta::minutes(2));
    }
    let verify = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", verify).await.expect(200);
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn b1_repeated_sign_up_shows_no_stored_data() {
    let world = World::builder().as_served().build().await;
    let sign_up = async |email: &str, data: Value| {
        world.advance(TimeDelta::minutes(2));
        let body = json!({"email": email, "password": PASSWORD, "data": data});
        world.post("/signup", body).await.expect(200).json
    };
    let first = sign_up(ANN, json!({"full_name": "Ann Private", "phone_private": "+43 660 123"})).await;
    world.advance(TimeDelta::minutes(2));
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    let repeated = sign_up(ANN, json!({"x": null, "y": 1})).await;
    let new = sign_up("ben@example.com", json!({"x": null, "y": 1})).await;
    assert!(!repeated.to_string().contains("Private") && !repeated.to_string().contains("660"), "{repeated}");
    assert_eq!(repeated["id"], first["id"]);
    assert_eq!(repeated["created_at"], repeated["confirmation_sent_at"]);

    // Nothing but ids, addresses and the later time differs from the response to a new address.
    let normal = |body: &Value, email: &str| {
        let identity = &body["identities"][0];
        let mut text = body.to_string().replace(email, "EMAIL");
        for known in [&body["id"], &identity["identity_id"], &body["created_at"]] {
            text = text.replace(known.as_str().expect("text"), "KNOWN");
        }
        text
    };
    assert_eq!(normal(&repeated, ANN), normal(&new, "ben@example.com"));
}

#[tokio::test]
async fn b1_sign_up_shows_nothing_of_a_confirmed_account() {
    let world = World::builder().as_served().policy(|policy| policy.sign_up.phone_enabled = true).build().await;
    let phone = "436601234567";
    for (plain, full) in [
        (json!({"email": "ben@example.com"}), json!({"email": ANN})),
        (json!({"phone": "15550100"}), json!({"phone": phone})),
    ] {
        let mut shown = Vec::new();
        for contact in [&plain, &full] {
            let mut account = contact.clone();
            account["password"] = json!(PASSWORD);
            account["email_confirm"] = json!(true);
            account["phone_confirm"] = json!(true);
            let made = world.post_as(&world.service_token(), "/admin/users", account).await.expect(200);
            if contact == &full {
                let fill = format!(
                    "WITH filled AS (
                        UPDATE auth.users
                        SET banned_until = now() + interval '1 day', recovery_sent_at = now(), invited_at = now(),
                            phone_change = '4366087654321', last_sign_in_at = now(),
                            raw_app_meta_data = '{{\"role\": \"private\"}}'
                        WHERE id = '{}'
                        RETURNING id
                    )
                    INSERT INTO auth.mfa_factors
                        (id, user_id, friendly_name, factor_type, status, created_at, updated_at, phone)
                    SELECT gen_random_uuid(), id, 'private', 'phone', 'verified', now(), now(), '4366011111111'
                    FROM filled",
                    made.str("id")
                );
                world.database.query(&fill).await;
            }
            world.advance(TimeDelta::minutes(2));
            let mut body = contact.clone();
            body["password"] = json!("another password");
            let answer = world.post("/signup", body).await.expect(200).json;
            let members: Vec<String> = answer.as_object().expect("a user").keys().cloned().collect();
            for private in ["private", "43660"] {
                let text = answer.to_string().replace(phone, "");
                assert!(!text.contains(private), "{text}");
            }
            shown.push(members);
        }
        assert_eq!(shown[0], shown[1]);
    }
}

#[tokio::test]
async fn b1_recovery_removes_access_of_an_unconfirmed_sign_up() {
    let world = World::builder().as_served().build().await;
    world.post("/signup", json!({"email": ANN, "password": "the attacker's"})).await.expect(200);
    world.advance(TimeDelta::minutes(2));
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    let verify = json!({"type": "recovery", "email": ANN, "token": world.code(ANN)});
    let owner = TestUser::from_session(&world.post("/verify", verify).await);
    world.put_as(&owner.access_token, "/user", json!({"password": PASSWORD})).await.expect(200);
    world.try_password(ANN, "the attacker's").await.expect(400);
    world.sign_in(ANN).await;
}

#[tokio::test]
async fn b1_email_change_takes_effect_only_after_confirmation() {
    let world = World::new().await;
    let eve = world.create_user("eve@example.com").await;
    let answer = world.put_as(&eve.access_token, "/user", json!({"email": ANN})).await.expect(200);
    assert_eq!((answer.str("email"), answer.str("new_email")), ("eve@example.com", ANN));
    let ann = world.create_user(ANN).await;
    assert_ne!(ann.id, eve.id);
    world.try_password(ANN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn b3_token_is_bound_to_its_purpose() {
    for (purpose, own) in [
        ("signup", &["signup", "invite", "email"][..]),
        ("recovery", &["recovery", "magiclink", "email"]),
        ("email_change", &["email_change"]),
        ("reauthentication", &[]),
    ] {
        for kind in ["signup", "invite", "recovery", "magiclink", "email", "email_change", "sms", "phone_change"] {
            if own.contains(&kind) {
                continue;
            }
            let (world, code, hash) = pending(purpose).await;
            let to = if purpose == "email_change" { "new@example.com" } else { ANN };
            let mut tries = vec![json!({"type": kind, "email": to, "token": code})];
            if !hash.is_empty() {
                tries.push(json!({"type": kind, "token_hash": hash}));
                let answer = world.get(&format!("/verify?type={kind}&token={hash}")).await;
                assert!(!answer.header("location").contains("access_token"), "{purpose} as {kind}");
            }
            for body in tries {
                let answer = world.post("/verify", body.clone()).await;
                assert!(matches!(answer.status.as_u16(), 400 | 403), "{purpose} as {kind}: {} {body}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn b3_token_is_bound_to_its_endpoint() {
    let (world, code, hash) = pending("recovery").await;
    for text in [code, hash] {
        assert!(world.refresh(&text).await.status.is_client_error());
        world.get_as(&text, "/user").await.expect(403);
        let grant = json!({"auth_code": text, "code_verifier": VERIFIER});
        world.post("/token?grant_type=pkce", grant).await.expect(404);
    }
    let user = world.sign_in(ANN).await;
    let as_refresh = world.refresh(&user.access_token).await;
    assert_eq!(as_refresh.refusal(), (400, "validation_failed"));
    world.get_as(&user.refresh_token, "/user").await.expect(403);
}

#[tokio::test]
async fn b3_code_is_bound_to_its_user() {
    let world = World::new().await;
    let bob = "bob@example.com";
    for email in [ANN, bob] {
        world.post("/signup", json!({"email": email, "password": PASSWORD})).await.expect(200);
    }
    let answer = world.post("/verify", json!({"type": "signup", "email": bob, "token": world.code(ANN)})).await;
    assert_eq!(answer.refusal(), (403, "otp_expired"));
}

async fn with_challenge() -> (World, String) {
    let world = World::new().await;
    let body =
        json!({"email": ANN, "password": PASSWORD, "code_challenge": VERIFIER, "code_challenge_method": "plain"});
    world.post("/signup", body).await.expect(200);
    let link = world.link(ANN);
    (world, link)
}

#[tokio::test]
async fn b7_pkce_link_gives_no_session_without_the_verifier() {
    let (world, link) = with_challenge().await;
    let bare = link.replace("pkce_", "");
    let answer = world.get(&bare).await.expect(303);
    assert!(answer.header("location").contains("error_code=otp_expired"), "{}", answer.header("location"));
    let body = json!({"type": "signup", "token_hash": hash_of(&bare)});
    assert_eq!(world.post("/verify", body).await.refusal(), (403, "otp_expired"));
    let location = world.get(&link).await.expect(303).header("location").to_owned();
    let code = location.split_once("code=").map(|(_, code)| code.to_owned()).expect("a code");
    for (body, status) in [
        (json!({"auth_code": code}), 400),
        (json!({"auth_code": code, "code_verifier": ""}), 400),
        (json!({"auth_code": code, "code_verifier": VERIFIER.to_uppercase()}), 400),
        (json!({"auth_code": code, "code_verifier": Value::Null}), 400),
        (json!({"auth_code": format!("{code}0"), "code_verifier": VERIFIER}), 404),
    ] {
        world.post("/token?grant_type=pkce", body).await.expect(status);
    }
    world.post("/token?grant_type=pkce", json!({"auth_code": code, "code_verifier": VERIFIER})).await.expect(200);
}

#[tokio::test]
async fn b7_pkce_code_expires() {
    let (world, link) = with_challenge().await;
    let location = world.get(&link).await.expect(303).header("location").to_owned();
    let code = location.split_once("code=").map(|(_, code)| code.to_owned()).expect("a code");
    let grant = json!({"auth_code": code, "code_verifier": VERIFIER});
    world.advance(TimeDelta::minutes(5) + TimeDelta::microseconds(1));
    assert_eq!(world.post("/token?grant_type=pkce", grant).await.refusal(), (422, "flow_state_expired"));
}
