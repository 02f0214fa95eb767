//! `/admin/users/{id}/factors`.

use gotrue_rs::testing::World;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::{ANN, UNKNOWN_USER_ID, admin_request_by};

async fn admin_factor_request(world: &World, method: Method, path: &str, body: Option<Value>) -> Answer {
    let bearer = format!("Bearer {}", world.service_token());
    world.request(method, path, &[("authorization", &bearer)], body).await
}

#[tokio::test]
async fn factors_are_listed_for_administrators() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let path = format!("/admin/users/{}/factors", ann.id);
    let listed = admin_factor_request(&world, Method::GET, &path, None).await.expect(200);
    assert_eq!(listed.json[0]["id"], json!(app.id));
    assert_eq!(listed.json[0]["status"], "verified");
    assert_eq!(world.journal().statements(), ["users.with_session"]);
    let bob = world.create_user("bob@example.com").await;
    let none =
        admin_factor_request(&world, Method::GET, &format!("/admin/users/{}/factors", bob.id), None).await.expect(200);
    assert_eq!(none.json, json!([]));
}

#[tokio::test]
async fn a_factor_is_renamed_and_nothing_else_changes() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let path = format!("/admin/users/{}/factors/{}", ann.id, app.id);
    let renamed =
        admin_factor_request(&world, Method::PUT, &path, Some(json!({ "friendly_name": "mine" }))).await.expect(200);
    assert_eq!(renamed.str("friendly_name"), "mine");
    let same = admin_factor_request(&world, Method::PUT, &path, Some(json!({ "phone": "nonsense" }))).await.expect(200);
    assert_eq!((same.str("friendly_name"), same.str("phone")), ("mine", ""));
    let answer = admin_factor_request(&world, Method::PUT, &path, Some(json!({ "friendly_name": 1 }))).await;
    assert_eq!(answer.refusal(), (400, "bad_json"));
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn factor_phone_is_changed_only_to_a_valid_number() {
    let world = World::with(|policy| policy.mfa.phone.enroll_enabled = true).await;
    let ann = world.create_user(ANN).await;
    let body = json!({ "factor_type": "phone", "phone": "15550100", "friendly_name": "mobile" });
    let made = world.enroll(&ann.access_token, body).await.expect(200);
    let path = format!("/admin/users/{}/factors/{}", ann.id, made.str("id"));
    let bad = json!({ "friendly_name": "kept as it was", "phone": "nonsense" });
    let answer = admin_factor_request(&world, Method::PUT, &path, Some(bad)).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
    let changed =
        admin_factor_request(&world, Method::PUT, &path, Some(json!({ "phone": "+1 555 0101" }))).await.expect(200);
    assert_eq!((changed.str("phone"), changed.str("friendly_name")), ("15550101", "mobile"));
}

#[tokio::test]
async fn deleted_factor_no_longer_elevates_sessions() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let path = format!("/admin/users/{}/factors/{}", ann.id, app.id);
    let gone = admin_factor_request(&world, Method::DELETE, &path, None).await.expect(200);
    assert_eq!(gone.str("id"), app.id);
    assert_eq!(
        admin_factor_request(&world, Method::DELETE, &path, None).await.refusal(),
        (404, "mfa_factor_not_found")
    );
    let back = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(world.decode_claims(back.str("access_token"))["aal"], "aal1");
    world.put_as(back.str("access_token"), "/user", json!({ "password": "another horse" })).await.expect(200);
}

#[tokio::test]
async fn factor_id_must_belong_to_the_user() {
    let world = World::new().await;
    let (ann, app) = world.create_user_with_totp(ANN).await;
    let bob = world.create_user("bob@example.com").await;
    for (user, factor, code) in [
        (bob.id.as_str(), app.id.as_str(), "mfa_factor_not_found"),
        (&ann.id, UNKNOWN_USER_ID, "mfa_factor_not_found"),
        (&ann.id, "nonsense", "validation_failed"),
        (UNKNOWN_USER_ID, &app.id, "user_not_found"),
    ] {
        let path = format!("/admin/users/{user}/factors/{factor}");
        for method in [Method::PUT, Method::DELETE] {
            let body = (method == Method::PUT).then(|| json!({ "friendly_name": "mine" }));
            assert_eq!(admin_factor_request(&world, method, &path, body).await.refusal(), (404, code), "{path}");
        }
    }
    let own = format!("/admin/users/{}/factors/{}", ann.id, app.id);
    let answer = admin_request_by(&world, Some(&ann.access_token), &Method::DELETE, &own).await;
    assert_eq!(answer.refusal(), (403, "not_admin"));
}
