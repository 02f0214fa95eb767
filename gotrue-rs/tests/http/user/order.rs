//! Order of validation: each request below breaks one rule and all later ones.

use gotrue_rs::testing::{PASSWORD, TestUser, World};
use serde_json::{Value, json};

use super::{Acting, create_user};

async fn refusal(world: &World, user: &TestUser, body: Value) -> (u16, String) {
    let answer = user.change(world, body).await;
    (answer.status.as_u16(), answer.str("error_code").to_owned())
}

#[tokio::test]
async fn validation_precedes_permission_uniqueness_and_password_checks() {
    let world = World::with(|policy| {
        policy.security.update_password_require_reauthentication = true;
        policy.security.update_password_require_current_password = true;
    })
    .await;
    let ann = create_user(&world, "ann").await;
    let bob = create_user(&world, "bob").await;
    bob.set(&world, "phone = '15550100009'").await;
    let session = world.try_password(&ann.email, PASSWORD).await.expect(200);
    let ann = TestUser { access_token: session.str("access_token").to_owned(), ..ann };
    world.database.query("UPDATE auth.sessions SET created_at = created_at - interval '25 hours'").await;
    let factor = format!(
        "INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
         VALUES (gen_random_uuid(), '{}', 'totp', 'verified', now(), now())",
        ann.id
    );
    world.database.query(&factor).await;
    ann.set(&world, "is_sso_user = true").await;

    let mut body = json!({
        "email": "no address", "phone": "no number", "channel": "pigeon", "password": "short", "app_metadata": {},
    });
    let mut expect = async |member: &str, repaired: Value, status: u16, code: &str| {
        assert_eq!(refusal(&world, &ann, body.clone()).await, (status, code.to_owned()), "{body}");
        body[member] = repaired;
    };
    expect("email", json!("bob@example.com"), 400, "validation_failed").await;
    expect("phone", json!("15550100009"), 400, "validation_failed").await;
    expect("channel", json!("sms"), 400, "validation_failed").await;
    expect("password", json!(PASSWORD), 422, "weak_password").await;
    expect("app_metadata", Value::Null, 403, "not_admin").await;
    expect("x", Value::Null, 401, "insufficient_aal").await;
    world.database.query("UPDATE auth.sessions SET aal = 'aal2'").await;
    expect("x", Value::Null, 422, "user_sso_managed").await;
    ann.set(&world, "is_sso_user = false").await;
    expect("email", json!("ann@example.com"), 422, "email_exists").await;
    expect("phone", json!(""), 422, "phone_exists").await;
    expect("nonce", json!("000000"), 400, "reauthentication_needed").await;
    expect("x", Value::Null, 422, "reauthentication_not_valid").await;
    world.database.query("UPDATE auth.sessions SET created_at = created_at + interval '25 hours'").await;
    expect("current_password", json!("wrong horse"), 400, "current_password_required").await;
    expect("current_password", json!(PASSWORD), 400, "current_password_invalid").await;
    expect("password", json!("battery staple"), 422, "same_password").await;
    ann.change(&world, body).await.expect(200);
}

#[tokio::test]
async fn anonymous_user_sets_a_password_only_with_an_email() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let unknown = world.post("/signup", json!({})).await.expect(200);
    let token = unknown.str("access_token");
    let answer = world.put_as(token, "/user", json!({ "password": "battery staple" })).await;
    assert_eq!(answer.refusal(), (422, "validation_failed"));
    let both = json!({ "password": "battery staple", "email": "new@example.com" });
    world.put_as(token, "/user", both).await.expect(200);
}

#[tokio::test]
async fn password_change_with_a_verified_factor_requires_exactly_aal2() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let factor = format!(
        "INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
         VALUES (gen_random_uuid(), '{}', 'totp', 'verified', now(), now())",
        ann.id
    );
    world.database.query(&factor).await;
    let body = json!({ "password": "battery staple" });
    for level in ["aal1", "aal3"] {
        world.database.query(&format!("UPDATE auth.sessions SET aal = '{level}'")).await;
        assert_eq!(refusal(&world, &ann, body.clone()).await, (401, "insufficient_aal".to_owned()), "{level}");
    }
    world.database.query("UPDATE auth.sessions SET aal = 'aal2'").await;
    ann.change(&world, body).await.expect(200);
}

#[tokio::test]
async fn metadata_update_requires_no_aal2_and_no_sso_check() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    ann.set(&world, "is_sso_user = true").await;
    ann.change(&world, json!({ "data": { "a": 1 } })).await.expect(200);
}
