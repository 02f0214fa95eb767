//! `POST /token?grant_type=password`.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use serde_json::{Value, json};

const ANN: &str = "ann@example.com";

async fn stored_hash(world: &World) -> String {
    world.database.query("SELECT encrypted_password FROM auth.users").await.concat()
}

#[tokio::test]
async fn password_opens_a_session() {
    let world = World::new().await;
    let user = world.create_user(ANN).await;
    let answer = world.try_password("ANN@example.com", PASSWORD).await.expect(200);
    assert_eq!(answer.str("user/id"), user.id);
    assert_eq!(answer.json.get("weak_password"), Some(&Value::Null));
    assert_eq!(answer.json.get("expires_in"), Some(&json!(3600)));
    assert_eq!(answer.header("sb-auth-user-id"), user.id);
    assert_eq!(answer.header("sb-auth-refresh-token-prefix"), &answer.str("refresh_token")[..5]);
    assert_ne!(answer.header("sb-auth-session-id"), user.session);
}

#[tokio::test]
async fn phone_signs_in_with_and_without_plus() {
    let world = World::with(|policy| policy.sms.autoconfirm = true).await;
    world.post("/signup", json!({"phone": "+15550100", "password": PASSWORD})).await.expect(200);
    for phone in ["15550100", "+1 555 0100"] {
        let body = json!({"phone": phone, "password": PASSWORD});
        world.post("/token?grant_type=password", body).await.expect(200);
    }
}

#[tokio::test]
async fn all_password_refusals_are_identical() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    world.create_user(ANN).await;
    let without = "UPDATE auth.users SET encrypted_password = NULL, email = 'bare@example.com' WHERE is_anonymous";
    world.post("/signup", json!({})).await.expect(200);
    world.database.query(without).await;
    let wrong = world.try_password(ANN, "wrong password").await.expect(400);
    assert_eq!(wrong.refusal(), (400, "invalid_credentials"));
    for (email, password) in [("unknown@example.com", PASSWORD), ("bare@example.com", ""), ("not an address", PASSWORD)]
    {
        let answer = world.try_password(email, password).await.expect(400);
        assert_eq!(answer.text, wrong.text, "{email}");
    }
}

#[tokio::test]
async fn banned_user_is_refused_until_the_ban_ends() {
    let world = World::new().await;
    world.create_user(ANN).await;
    let until = world.now() + TimeDelta::hours(1);
    world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
    assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "user_banned"));
    world.advance(TimeDelta::hours(1));
    world.try_password(ANN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn unconfirmed_state_is_revealed_only_with_the_password() {
    let world = World::new().await;
    world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
    assert_eq!(world.try_password(ANN, "wrong password").await.refusal(), (400, "invalid_credentials"));
    assert_eq!(world.try_password(ANN, PASSWORD).await.refusal(), (400, "email_not_confirmed"));
}

#[tokio::test]
async fn valid_password_below_current_rules_is_reported_as_weak() {
    let world = World::with(|policy| policy.password.min_length = 20).await;
    let strong = "a password of twenty-odd characters";
    world.post("/signup", json!({"email": ANN, "password": strong})).await.expect(200);
    let code = json!({"type": "signup", "email": ANN, "token": world.code(ANN)});
    world.post("/verify", code).await.expect(200);
    // The hash of PASSWORD, made before the rules were stricter.
    let old = bcrypt::hash(PASSWORD, 4).expect("it can be hashed");
    world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{old}'")).await;
    let answer = world.try_password(ANN, PASSWORD).await.expect(200);
    assert_eq!(answer.json.pointer("/weak_password/reasons"), Some(&json!(["length"])));
    assert_eq!(answer.str("weak_password/message"), "Password should be at least 20 characters.");
}

#[tokio::test]
async fn request_must_name_one_identifier_of_an_enabled_provider() {
    let world = World::with(|policy| policy.sign_up.phone_enabled = false).await;
    for (body, refusal) in [
        (json!({"email": ANN, "phone": "15550100", "password": "x"}), (400, "validation_failed")),
        (json!({"phone": "15550100", "password": "x"}), (422, "phone_provider_disabled")),
        (json!({"password": "x"}), (400, "validation_failed")),
    ] {
        let answer = world.post("/token?grant_type=password", body.clone()).await;
        assert_eq!(answer.refusal(), refusal, "{body}");
    }
}

#[tokio::test]
async fn unknown_grant_type_is_refused() {
    let world = World::new().await;
    for path in ["/token", "/token?grant_type=", "/token?grant_type=Password", "/token?grant_type=client_credentials"] {
        let answer = world.post(path, json!({"grant_type": "password"})).await;
        assert_eq!((answer.refusal(), answer.str("msg")), ((400, "invalid_credentials"), "unsupported_grant_type"));
    }
}

#[tokio::test]
async fn new_password_is_hashed_with_argon2id_with_hardened_policy() {
    for (builder, start) in [(World::builder().as_served(), "$argon2id$v=19$m=7168,t=5,p=1$"), (World::builder(), "$2")]
    {
        let world = builder.policy(|policy| policy.mail.autoconfirm = true).build().await;
        world.create_user(ANN).await;
        let stored = stored_hash(&world).await;
        assert!(stored.starts_with(start), "{stored}");
    }
}

#[tokio::test]
async fn outdated_hash_is_rehashed_once_if_enabled() {
    let world = World::builder().as_served().policy(|policy| policy.mail.autoconfirm = true).build().await;
    world.create_user(ANN).await;
    let old = bcrypt::hash(PASSWORD, 4).expect("it can be hashed");
    world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{old}'")).await;
    world.try_password(ANN, "wrong password").await.expect(400);
    assert_eq!(stored_hash(&world).await, old);
    world.sign_in(ANN).await;
    assert_eq!(world.journal().statements().len(), 3, "one statement more");
    let renewed = stored_hash(&world).await;
    assert!(renewed.starts_with("$argon2id$v=19$m=7168,t=5,p=1$"), "{renewed}");
    world.sign_in(ANN).await;
    assert_eq!(world.journal().statements().len(), 2, "only once");
    assert_eq!(stored_hash(&world).await, renewed);
}

#[tokio::test]
async fn failed_rehash_does_not_block_sign_in() {
    let world = World::builder().as_served().policy(|policy| policy.mail.autoconfirm = true).build().await;
    world.create_user(ANN).await;
    let old = bcrypt::hash(PASSWORD, 4).expect("it can be hashed");
    world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{old}'")).await;
    world.faults.fail("accounts.set_password", 1);
    world.sign_in(ANN).await;
    assert_eq!(stored_hash(&world).await, old);
}

#[tokio::test]
async fn hash_is_not_rehashed_by_default() {
    let world = World::new().await;
    world.create_user(ANN).await;
    let old = bcrypt::hash(PASSWORD, 5).expect("it can be hashed");
    world.database.query(&format!("UPDATE auth.users SET encrypted_password = '{old}'")).await;
    world.sign_in(ANN).await;
    assert_eq!(stored_hash(&world).await, old);
}

#[tokio::test]
async fn access_token_contains_subject_method_and_expiry() {
    let world = World::new().await;
    world.create_user(ANN).await;
    let user = world.sign_in(ANN).await;
    let claims = claims(&world, &user);
    assert_eq!(claims["sub"], json!(user.id));
    assert_eq!(claims["aud"], json!("authenticated"));
    assert_eq!(claims["role"], json!("authenticated"));
    assert_eq!(claims["session_id"], json!(user.session));
    assert_eq!(claims["aal"], json!("aal1"));
    assert_eq!(claims["amr"][0]["method"], json!("password"));
    assert_eq!(claims["exp"], json!(world.now().timestamp() + 3600));
    assert_eq!(claims["iss"], json!("http://auth.example.com"));
}

fn claims(world: &World, user: &TestUser) -> Value {
    world.decode_claims(&user.access_token)
}
