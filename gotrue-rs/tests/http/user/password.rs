use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use platform::journal::Step;
use serde_json::{Value, json};

use super::{Acting, create_user};

const NEW: &str = "battery staple";

#[tokio::test]
async fn c2_new_password_revokes_every_other_session() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let other = world.try_password(&ann.email, PASSWORD).await.expect(200);
    let bob = create_user(&world, "bob").await;

    ann.change(&world, json!({ "password": NEW })).await.expect(200);

    ann.read_user(&world).await;
    bob.read_user(&world).await;
    let gone = world.get_as(other.str("access_token"), "/user").await;
    assert_eq!(gone.refusal(), (403, "session_not_found"));
    let refreshed =
        world.post("/token?grant_type=refresh_token", json!({ "refresh_token": other.str("refresh_token") })).await;
    assert_eq!(refreshed.refusal(), (400, "refresh_token_not_found"));
    assert_eq!(world.try_password(&ann.email, PASSWORD).await.refusal(), (400, "invalid_credentials"));
    world.try_password(&ann.email, NEW).await.expect(200);
}

#[tokio::test]
async fn c2_new_password_without_session_revokes_all_sessions() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let claims = json!({
        "sub": ann.id, "aud": "authenticated", "role": "authenticated", "exp": world.now().timestamp() + 60,
    });
    let token = world.sign_claims(&claims);
    world.put_as(&token, "/user", json!({ "password": NEW })).await.expect(200);
    assert_eq!(world.get_as(&ann.access_token, "/user").await.refusal(), (403, "session_not_found"));
}

#[tokio::test]
async fn c2_new_password_revokes_pending_tokens() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    world.post("/recover", json!({ "email": ann.email })).await.expect(200);
    let code = world.code(&ann.email);
    ann.change(&world, json!({ "email": "new@example.com" })).await.expect(200);
    let change = world.code("new@example.com");

    let answer = ann.change(&world, json!({ "password": NEW })).await.expect(200);

    assert!(answer.json.get("recovery_sent_at").is_none(), "{}", answer.text);
    let recovery = json!({ "type": "recovery", "email": ann.email, "token": code });
    assert_eq!(world.post("/verify", recovery).await.refusal(), (403, "otp_expired"));
    let change = json!({ "type": "email_change", "email": "new@example.com", "token": change });
    assert_eq!(world.post("/verify", change).await.refusal(), (403, "otp_expired"));
    let left = format!("SELECT token_type FROM auth.one_time_tokens WHERE user_id = '{}'", ann.id);
    assert_eq!(world.database.query(&left).await, [""; 0]);
}

#[tokio::test]
async fn password_and_metadata_take_one_statement_and_two_audit_entries() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let answer = ann.change(&world, json!({ "password": NEW, "data": { "full_name": "Ann" } })).await.expect(200);
    assert_eq!(answer.json["user_metadata"]["full_name"], "Ann");
    assert_eq!(world.journal().statements(), ["users.with_session", "accounts.update"]);
    assert_eq!(ann.log(&world).await[2..], ["user_updated_password", "user_modified"]);
    let names = "SELECT coalesce(payload ->> 'actor_name', '-') FROM auth.audit_log_entries
                 WHERE payload ->> 'action' IN ('user_updated_password', 'user_modified') ORDER BY created_at";
    assert_eq!(world.database.query(names).await, ["-", "Ann"], "each row names the account as it was then");
}

#[tokio::test]
async fn passwords_are_hashed_before_any_write() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.change(&world, json!({ "password": NEW, "email": "new@example.com" })).await.expect(200);
    let steps = world.journal().steps();
    let at = |wanted: Step| steps.iter().position(|step| *step == wanted).expect("it was done");
    let begin = at(Step::Transaction("BEGIN"));
    assert!(at(Step::Call("hashing.verify")) < at(Step::Call("hashing.hash")));
    assert!(at(Step::Call("hashing.hash")) < begin && at(Step::Call("mail.send")) < begin, "{steps:?}");
}

#[tokio::test]
async fn unchanged_password_is_refused_without_writes() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let answer = ann.change(&world, json!({ "password": PASSWORD, "data": { "a": 1 } })).await;
    assert_eq!(answer.refusal(), (422, "same_password"));
    assert_eq!(ann.read_user(&world).await.json["user_metadata"].get("a"), None);
}

#[tokio::test]
async fn weak_password_is_refused() {
    let world = World::with(|policy| policy.password.min_length = 8).await;
    let ann = create_user(&world, "ann").await;
    for (password, refusal) in [
        ("", (422, "weak_password")),
        ("sevenxx", (422, "weak_password")),
        (&"x".repeat(73), (400, "validation_failed")),
    ] {
        assert_eq!(ann.change(&world, json!({ "password": password })).await.refusal(), refusal, "{password}");
    }
}

#[tokio::test]
async fn user_without_password_sets_a_first_one() {
    let world = World::with(|policy| policy.security.update_password_require_current_password = true).await;
    let ann = create_user(&world, "ann").await;
    ann.set(&world, "encrypted_password = NULL").await;
    ann.change(&world, json!({ "password": NEW })).await.expect(200);
    world.try_password(&ann.email, NEW).await.expect(200);
}

#[tokio::test]
async fn current_password_is_required_if_enabled() {
    let world = World::with(|policy| policy.security.update_password_require_current_password = true).await;
    let ann = create_user(&world, "ann").await;
    let session = world.try_password(&ann.email, PASSWORD).await.expect(200);
    let token = session.str("access_token");
    let change = |current: Value| {
        let mut body = json!({ "password": NEW });
        body["current_password"] = current;
        world.put_as(token, "/user", body)
    };
    assert_eq!(change(Value::Null).await.refusal(), (400, "current_password_required"));
    assert_eq!(change(json!("")).await.refusal(), (400, "current_password_required"));
    assert_eq!(change(json!("wrong horse")).await.refusal(), (400, "current_password_invalid"));
    change(json!(PASSWORD)).await.expect(200);
}

#[tokio::test]
async fn recovery_session_needs_no_current_password() {
    let world = World::with(|policy| policy.security.update_password_require_current_password = true).await;
    let ann = create_user(&world, "ann").await;
    world.post("/recover", json!({ "email": ann.email })).await.expect(200);
    let code = world.code(&ann.email);
    let recovered = json!({ "type": "recovery", "email": ann.email, "token": code });
    let recovered = world.post("/verify", recovered).await.expect(200);
    world.put_as(recovered.str("access_token"), "/user", json!({ "password": NEW })).await.expect(200);
}

#[tokio::test]
async fn token_without_session_cannot_skip_the_current_password() {
    let world = World::with(|policy| policy.security.update_password_require_current_password = true).await;
    let ann = create_user(&world, "ann").await;
    let claims = json!({ "sub": ann.id, "aud": "authenticated", "exp": world.now().timestamp() + 60 });
    let token = world.sign_claims(&claims);
    world.put_as(&token, "/user", json!({ "password": NEW })).await.expect(500);
    world.advance(TimeDelta::seconds(1));
    world.try_password(&ann.email, PASSWORD).await.expect(200);
}

/// A user of an external provider without a password.
async fn without_password(world: &World) -> TestUser {
    let ann = create_user(world, "ann").await;
    ann.set(world, "encrypted_password = NULL").await;
    let came =
        format!("UPDATE auth.identities SET provider = 'github', provider_id = 'cat' WHERE user_id = '{}'", ann.id);
    world.database.query(&came).await;
    ann
}

#[tokio::test]
async fn first_password_adds_email_identity_if_enabled() {
    let world = World::with(|policy| policy.experimental.create_email_identity_on_password_set = true).await;
    let ann = without_password(&world).await;
    let answer = ann.change(&world, json!({ "password": NEW })).await.expect(200);
    let stored = ann.read_user(&world).await;
    for json in [&answer.json, &stored.json] {
        assert_eq!(json["app_metadata"]["providers"], json!(["github", "email"]), "{json}");
        let own =
            json["identities"].as_array().and_then(|all| all.iter().find(|identity| identity["provider"] == "email"));
        let data = own.map(|own| &own["identity_data"]);
        let expected = json!({ "sub": ann.id, "email": ann.email, "email_verified": true, "phone_verified": false });
        assert_eq!(data, Some(&expected), "{json}");
    }
    ann.change(&world, json!({ "password": "horse battery" })).await.expect(200);
    assert_eq!(ann.read_user(&world).await.json["identities"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn first_password_adds_no_identity_by_default() {
    let world = World::new().await;
    let ann = without_password(&world).await;
    ann.change(&world, json!({ "password": NEW })).await.expect(200);
    assert_eq!(ann.read_user(&world).await.json["identities"].as_array().map(Vec::len), Some(1));
}
