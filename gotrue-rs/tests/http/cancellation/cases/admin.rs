//! What administrators do with accounts.

use futures::FutureExt;
use serde_json::{Value, json};

use super::super::fixture::{Fixture, email, phone};
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;

const USERS: &str = "/admin/users";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("GET /admin/users", "", |place, n| {
            async move {
                place.create_user(n).await;
                TestRequest::get(USERS).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("POST /admin/users", "", |place, n| {
            async move {
                let body =
                    json!({"email": email(n), "phone": phone(n), "password": "s3cret pass", "email_confirm": true});
                TestRequest::post(USERS, &body).with_token(&place.world.service_token())
            }
            .boxed()
        })
        .again(&["422 email_exists"]),
        case("GET /admin/audit", "", |place, n| {
            async move {
                place.create_user(n).await;
                TestRequest::get("/admin/audit").with_token(&place.world.service_token())
            }
            .boxed()
        }),
    ];
    cases.extend(one_account());
    cases.extend(their_factors());
    cases.extend(links());
    cases
}

async fn one(place: &Fixture, n: usize) -> String {
    format!("{USERS}/{}", place.create_user(n).await.id)
}

fn one_account() -> Vec<Case> {
    vec![
        case("GET /admin/users/{user_id}", "", |place, n| {
            async move { TestRequest::get(one(place, n).await).with_token(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/users/{user_id}", "", |place, n| {
            async move {
                let body = json!({
                    "email": format!("new{n}@example.com"), "phone": phone(n), "password": "s3cret pass",
                    "user_metadata": {"a": 1}, "app_metadata": {"b": 2}, "ban_duration": "1h", "email_confirm": true,
                });
                TestRequest::put(one(place, n).await, &body).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/users/{user_id}", "", |place, n| {
            async move { TestRequest::delete(one(place, n).await).with_token(&place.world.service_token()) }.boxed()
        })
        .again(&["404 user_not_found"]),
        case("DELETE /admin/users/{user_id}", "softly", |place, n| {
            async move {
                let path = one(place, n).await;
                TestRequest::delete(path)
                    .with_body(&json!({"should_soft_delete": true}))
                    .with_token(&place.world.service_token())
            }
            .boxed()
        })
        .again(&["404 user_not_found"]),
    ]
}

async fn factor(place: &Fixture, n: usize) -> String {
    let (ann, app) = place.world.create_user_with_totp(&email(n)).await;
    format!("{USERS}/{}/factors/{}", ann.id, app.id)
}

fn their_factors() -> Vec<Case> {
    vec![
        case("GET /admin/users/{user_id}/factors", "", |place, n| {
            async move {
                let (ann, _) = place.world.create_user_with_totp(&email(n)).await;
                TestRequest::get(format!("{USERS}/{}/factors", ann.id)).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("PUT /admin/users/{user_id}/factors/{factor_id}", "", |place, n| {
            async move {
                let path = factor(place, n).await;
                TestRequest::put(path, &json!({"friendly_name": "mine"})).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/users/{user_id}/factors/{factor_id}", "", |place, n| {
            async move { TestRequest::delete(factor(place, n).await).with_token(&place.world.service_token()) }.boxed()
        })
        .again(&["404 mfa_factor_not_found"]),
    ]
}

fn link(place: &Fixture, body: &Value) -> TestRequest {
    TestRequest::post("/admin/generate_link", body).with_token(&place.world.service_token())
}

fn links() -> Vec<Case> {
    const ROUTE: &str = "POST /admin/generate_link";
    vec![
        case(ROUTE, "signup", |place, n| {
            async move { link(place, &json!({"type": "signup", "email": email(n), "password": "s3cret pass"})) }.boxed()
        }),
        case(ROUTE, "invite", |place, n| {
            async move { link(place, &json!({"type": "invite", "email": email(n)})) }.boxed()
        }),
        case(ROUTE, "magiclink to a new user", |place, n| {
            async move { link(place, &json!({"type": "magiclink", "email": email(n)})) }.boxed()
        }),
        case(ROUTE, "recovery", |place, n| {
            async move {
                place.create_user(n).await;
                link(place, &json!({"type": "recovery", "email": email(n)}))
            }
            .boxed()
        }),
        case(ROUTE, "email_change_new", |place, n| {
            async move {
                place.create_user(n).await;
                let new = format!("new{n}@example.com");
                link(place, &json!({"type": "email_change_new", "email": email(n), "new_email": new}))
            }
            .boxed()
        }),
    ]
}
