//! One's own account: `/user` and what is below it.

use futures::FutureExt;
use serde_json::{Value, json};

use super::super::fixture::{Fixture, email, phone};
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;
use crate::linking::give_identity;

/// As in GoTrue, the code is consumed before the password is hashed. The user requests another code.
const CODE_USED: &[&[&str]] = &[&["1- auth.one_time_tokens", "1~ auth.users(updated_at,reauthentication_token)"]];

pub(super) fn cases() -> Vec<Case> {
    [
        case("GET /user", "", |place, n| {
            async move { TestRequest::get("/user").with_token(&place.create_user(n).await.access_token) }.boxed()
        }),
        case("PUT /user", "metadata", |place, n| {
            async move { change(place, n, &json!({"data": {"name": format!("Ann {n}")}})).await }.boxed()
        }),
        case("PUT /user", "password", |place, n| {
            async move { change(place, n, &json!({"password": format!("battery staple {n}")})).await }.boxed()
        })
        .again(&["422 same_password"]),
        case("PUT /user", "password with a code", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                let old = "UPDATE auth.sessions SET created_at = created_at - interval '25 hours'";
                place.world.database.query(old).await;
                place.world.get_as(&ann.access_token, "/reauthenticate").await.expect(200);
                let body = json!({"password": format!("battery staple {n}"), "nonce": place.world.code(&email(n))});
                TestRequest::put("/user", &body).with_token(&ann.access_token)
            }
            .boxed()
        })
        .differing(|builder| builder.policy(|policy| policy.security.update_password_require_reauthentication = true))
        .again(&["422 reauthentication_not_valid"])
        .steps(CODE_USED),
        case("PUT /user", "address", |place, n| {
            async move { change(place, n, &json!({"email": format!("new{n}@example.com")})).await }.boxed()
        }),
        case("PUT /user", "number", |place, n| {
            async move { change(place, n, &json!({"phone": phone(n)})).await }.boxed()
        }),
        case("PUT /user", "everything", |place, n| {
            async move {
                let body = json!({
                    "email": format!("new{n}@example.com"), "phone": phone(n), "data": {"name": "Ann"},
                    "password": format!("battery staple {n}"),
                });
                change(place, n, &body).await
            }
            .boxed()
        })
        .again(&["422 same_password"]),
    ]
    .into_iter()
    .chain(identities())
    .collect()
}

fn identities() -> [Case; 2] {
    [
        case("GET /user/identities/authorize", "", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                TestRequest::get("/user/identities/authorize?provider=github").with_token(&ann.access_token)
            }
            .boxed()
        }),
        case("DELETE /user/identities/{identity_id}", "", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                let work = format!("ann{n}@work.example");
                give_identity(&place.world, &ann.id, "github", Some(&work), true).await;
                let own = format!("UPDATE auth.identities SET provider_id = '{n}' WHERE provider_id = 'at-github'");
                place.world.database.query(&own).await;
                let found = format!("SELECT id FROM auth.identities WHERE email = '{}'", email(n));
                let id = place.world.database.query(&found).await.remove(0);
                TestRequest::delete(format!("/user/identities/{id}")).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&["422 single_identity_not_deletable"]),
    ]
}

async fn change(place: &Fixture, n: usize, body: &Value) -> TestRequest {
    let ann = place.create_user(n).await;
    TestRequest::put("/user", body).with_token(&ann.access_token)
}
