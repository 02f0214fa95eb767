//! Passkeys: registration, sign-in, management.

use futures::FutureExt;
use gotrue_rs::testing::{Authenticator, Person};
use serde_json::json;

use super::super::asked::Asked;
use super::super::place::Place;
use super::super::run::Case;
use super::case;

const USED: [&str; 2] = ["400 webauthn_challenge_not_found", "400 webauthn_challenge_expired"];
/// A challenge is good for one answer, also for a wrong one: it is used up before the answer is looked at. Who is
/// interrupted asks for another.
const CHALLENGE_USED: &[&[&str]] = &[&["1- auth.webauthn_challenges"]];
const GONE: [&str; 1] = ["404 validation_failed"];

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("POST /passkeys/authentication/options", "", |_, _| {
            async move { Asked::post("/passkeys/authentication/options", &json!({})) }.boxed()
        }),
        case("POST /passkeys/authentication/verify", "", |place, n| {
            async move {
                let (_, _, mut device) = holder(place, n).await;
                let asked = place.world.post("/passkeys/authentication/options", json!({})).await.expect(200);
                let credential = device.get(&asked.json["options"]);
                let body = json!({"challenge_id": asked.str("challenge_id"), "credential": credential});
                Asked::post("/passkeys/authentication/verify", &body)
            }
            .boxed()
        })
        .again(&USED)
        .steps(CHALLENGE_USED),
        case("POST /passkeys/registration/options", "", |place, n| {
            async move {
                let ann = place.person(n).await;
                Asked::post("/passkeys/registration/options", &json!({})).by(&ann.access_token)
            }
            .boxed()
        }),
        case("POST /passkeys/registration/verify", "", |place, n| {
            async move {
                let ann = place.person(n).await;
                let options = "/passkeys/registration/options";
                let asked = place.world.post_as(&ann.access_token, options, json!({})).await.expect(200);
                let credential = Authenticator::default().create(&asked.json["options"]);
                let body = json!({"challenge_id": asked.str("challenge_id"), "credential": credential});
                Asked::post("/passkeys/registration/verify", &body).by(&ann.access_token)
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
            async move { Asked::get("/passkeys").by(&holder(place, n).await.0.access_token) }.boxed()
        }),
        case("PATCH /passkeys/{passkey_id}", "", |place, n| {
            async move {
                let (ann, id, _) = holder(place, n).await;
                Asked::patch(format!("/passkeys/{id}"), &json!({"friendly_name": "Laptop"})).by(&ann.access_token)
            }
            .boxed()
        }),
        case("DELETE /passkeys/{passkey_id}", "", |place, n| {
            async move {
                let (ann, id, _) = holder(place, n).await;
                Asked::delete(format!("/passkeys/{id}")).by(&ann.access_token)
            }
            .boxed()
        })
        .again(&GONE),
        case("GET /admin/users/{user_id}/passkeys", "", |place, n| {
            async move {
                let (ann, _, _) = holder(place, n).await;
                Asked::get(format!("/admin/users/{}/passkeys", ann.id)).by(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/users/{user_id}/passkeys/{passkey_id}", "", |place, n| {
            async move {
                let (ann, id, _) = holder(place, n).await;
                Asked::delete(format!("/admin/users/{}/passkeys/{id}", ann.id)).by(&place.world.service_token())
            }
            .boxed()
        })
        .again(&GONE),
    ]
}

async fn holder(place: &Place, n: usize) -> (Person, String, Authenticator) {
    let ann = place.person(n).await;
    let (id, device) = place.world.passkey(&ann).await;
    (ann, id, device)
}
