//! The first complaint wins (`request-order`): each request below breaks a rule and all that come after it.

use gotrue_rs::testing::{PASSWORD, Person, World};
use serde_json::{Value, json};

use super::{Acting, person};

async fn refusal(world: &World, person: &Person, body: Value) -> (u16, String) {
    let answer = person.change(world, body).await;
    (answer.status.as_u16(), answer.str("error_code").to_owned())
}

#[tokio::test]
async fn forms_come_first_then_who_may_then_who_else_has_it_then_the_password() {
    let world = World::with(|policy| {
        policy.security.update_password_require_reauthentication = true;
        policy.security.update_password_require_current_password = true;
    })
    .await;
    let ann = person(&world, "ann").await;
    let bob = person(&world, "bob").await;
    bob.set(&world, "phone = '15550100009'").await;
    let session = world.try_password(&ann.email, PASSWORD).await.expect(200);
    let ann = Person { access_token: session.str("access_token").to_owned(), ..ann };
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
async fn an_anonymous_account_gets_a_password_only_with_an_address() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let nobody = world.post("/signup", json!({})).await.expect(200);
    let token = nobody.str("access_token");
    let answer = world.put_as(token, "/user", json!({ "password": "battery staple" })).await;
    assert_eq!(answer.refusal(), (422, "validation_failed"));
    let both = json!({ "password": "battery staple", "email": "new@example.com" });
    world.put_as(token, "/user", both).await.expect(200);
}

#[tokio::test]
async fn metadata_asks_for_no_second_factor_and_not_who_manages_the_account() {
    let world = World::new().await;
    let ann = person(&world, "ann").await;
    ann.set(&world, "is_sso_user = true").await;
    ann.change(&world, json!({ "data": { "a": 1 } })).await.expect(200);
}
