//! Passkeys: registration, sign-in, management.

use futures::FutureExt;
use gotrue_rs::testing::{TestUser, new_authenticator};
use platform::software_authenticator::Authenticator;
use serde_json::json;

use super::super::fixture::Fixture;
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;

const USED: [&str; 2] = ["400 webauthn_challenge_not_found", "400 webauthn_challenge_expired"];
/// A challenge accepts one response, even an invalid one, and is consumed before validation.
///
/// After an interruption the client requests another challenge.
const CHALLENGE_USED: &[&[&str]] = &[&["1- auth.webauthn_challenges"]];
const GONE: [&str; 1] = ["404 validation_failed"];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("POST /passkeys/authentication/options", "", |_, _| {
            async move { TestRequest::post("/passkeys/authentication/options", &json!({})) }.boxed()
        }),
        case("POST /passkeys/authentication/verify", "", |place, n| {
            async move {
                let (_, _, mut device) = holder(place, n).await;
                let response = place.world.post("/passkeys/authentication/options", json!({})).await.expect(200);
                let credential = device.get(&response.json["options"]);
                let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
                TestRequest::post("/passkeys/authentication/verify", &body)
            }
            .boxed()
        })
        .again(&USED)
        .steps(CHALLENGE_USED),
        case("POST /passkeys/registration/options", "", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                TestRequest::post("/passkeys/registration/options", &json!({})).with_token(&ann.access_token)
            }
            .boxed()
        }),
        case("POST /passkeys/registration/verify", "", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                let options = "/passkeys/registration/options";
                let response = place.world.post_as(&ann.access_token, options, json!({})).await.expect(200);
                let credential = new_authenticator().create(&response.json["options"]);
                let body = json!({"challenge_id": response.str("challenge_id"), "credential": credential});
                TestRequest::post("/passkeys/registration/verify", &body).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&USED)
        .steps(CHALLENGE_USED),
    ];
    cases.extend(managing());
    cases
}

fn managing() -> Vec<Case> {
    vec![
        case("GET /passkeys", "", |place, n| {
            async move { TestRequest::get("/passkeys").with_token(&holder(place, n).await.0.access_token) }.boxed()
        }),
        case("PATCH /passkeys/{passkey_id}", "", |place, n| {
            async move {
                let (ann, id, _) = holder(place, n).await;
                TestRequest::patch(format!("/passkeys/{id}"), &json!({"friendly_name": "Laptop"}))
                    .with_token(&ann.access_token)
            }
            .boxed()
        }),
        case("DELETE /passkeys/{passkey_id}", "", |place, n| {
            async move {
                let (ann, id, _) = holder(place, n).await;
                TestRequest::delete(format!("/passkeys/{id}")).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&GONE),
        case("GET /admin/users/{user_id}/passkeys", "", |place, n| {
            async move {
                let (ann, _, _) = holder(place, n).await;
                TestRequest::get(format!("/admin/users/{}/passkeys", ann.id)).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/users/{user_id}/passkeys/{passkey_id}", "", |place, n| {
            async move {
                let (ann, id, _) = holder(place, n).await;
                TestRequest::delete(format!("/admin/users/{}/passkeys/{id}", ann.id))
                    .with_token(&place.world.service_token())
            }
            .boxed()
        })
        .again(&GONE),
    ]
}

async fn holder(place: &Fixture, n: usize) -> (TestUser, String, Authenticator) {
    let ann = place.create_user(n).await;
    let (id, device) = place.world.create_passkey(&ann).await;
    (ann, id, device)
}
