//! `/admin/users/{id}/factors`.

use gotrue_rs::testing::{Answer, World};
use http::Method;
use serde_json::{Value, json};

use super::{ANN, NOBODY, asked_by};

async fn asked(world: &World, method: Method, path: &str, body: Option<Value>) -> Answer {
    let bearer = format!("Bearer {}", world.service_token());
    world.request(method, path, &[("authorization", &bearer)], body).await
}

#[tokio::test]
async fn an_administrator_sees_factors() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let path = format!("/admin/users/{}/factors", ann.id);
    let listed = asked(&world, Method::GET, &path, None).await.expect(200);
    assert_eq!(listed.json[0]["id"], json!(app.id));
    assert_eq!(listed.json[0]["status"], "verified");
    assert_eq!(world.journal().statements(), ["users.with_session"]);
    let bob = world.person("bob@example.com").await;
    let none = asked(&world, Method::GET, &format!("/admin/users/{}/factors", bob.id), None).await.expect(200);
    assert_eq!(none.json, json!([]));
}

#[tokio::test]
async fn a_factor_is_renamed_and_nothing_else_changes() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let path = format!("/admin/users/{}/factors/{}", ann.id, app.id);
    let renamed = asked(&world, Method::PUT, &path, Some(json!({ "friendly_name": "mine" }))).await.expect(200);
    assert_eq!(renamed.str("friendly_name"), "mine");
    let same = asked(&world, Method::PUT, &path, Some(json!({ "phone": "nonsense" }))).await.expect(200);
    assert_eq!((same.str("friendly_name"), same.str("phone")), ("mine", ""));
    let answer = asked(&world, Method::PUT, &path, Some(json!({ "friendly_name": 1 }))).await;
    assert_eq!(answer.refusal(), (400, "bad_json"));
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn a_number_is_changed_if_it_has_a_form() {
    let world = World::with(|policy| policy.mfa.phone.enroll_enabled = true).await;
    let ann = world.person(ANN).await;
    let body = json!({ "factor_type": "phone", "phone": "15550100", "friendly_name": "mobile" });
    let made = world.enroll(&ann.access_token, body).await.expect(200);
    let path = format!("/admin/users/{}/factors/{}", ann.id, made.str("id"));
    let bad = json!({ "friendly_name": "kept as it was", "phone": "nonsense" });
    let answer = asked(&world, Method::PUT, &path, Some(bad)).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
    let changed = asked(&world, Method::PUT, &path, Some(json!({ "phone": "+1 555 0101" }))).await.expect(200);
    assert_eq!((changed.str("phone"), changed.str("friendly_name")), ("15550101", "mobile"));
}

#[tokio::test]
async fn a_removed_factor_lifts_no_session_any_more() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let path = format!("/admin/users/{}/factors/{}", ann.id, app.id);
    let gone = asked(&world, Method::DELETE, &path, None).await.expect(200);
    assert_eq!(gone.str("id"), app.id);
    assert_eq!(asked(&world, Method::DELETE, &path, None).await.refusal(), (404, "mfa_factor_not_found"));
    let back = world.refresh(&ann.refresh_token).await.expect(200);
    assert_eq!(world.claims(back.str("access_token"))["aal"], "aal1");
    world.put_as(back.str("access_token"), "/user", json!({ "password": "another horse" })).await.expect(200);
}

#[tokio::test]
async fn the_path_must_name_a_factor_of_the_account() {
    let world = World::new().await;
    let (ann, app) = world.protected(ANN).await;
    let bob = world.person("bob@example.com").await;
    for (user, factor, code) in [
        (bob.id.as_str(), app.id.as_str(), "mfa_factor_not_found"),
        (&ann.id, NOBODY, "mfa_factor_not_found"),
        (&ann.id, "nonsense", "validation_failed"),
        (NOBODY, &app.id, "user_not_found"),
    ] {
        let path = format!("/admin/users/{user}/factors/{factor}");
        for method in [Method::PUT, Method::DELETE] {
            let body = (method == Method::PUT).then(|| json!({ "friendly_name": "mine" }));
            assert_eq!(asked(&world, method, &path, body).await.refusal(), (404, code), "{path}");
        }
    }
    let own = format!("/admin/users/{}/factors/{}", ann.id, app.id);
    let answer = asked_by(&world, Some(&ann.access_token), &Method::DELETE, &own).await;
    assert_eq!(answer.refusal(), (403, "not_admin"));
}
